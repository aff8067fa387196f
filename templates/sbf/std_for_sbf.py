"""Copy Debian's Rust standard library sources and add the few lines that ``target_os = "solana"`` lacks.

usage: std_for_sbf.py SOURCE DEST      (SOURCE: the ``library`` folder of rust-web-src, for rustc 1.96)

The SVM has no threads and no randomness, and each program brings its own allocator. So the choices are: no threads,
unsupported randomness, hash maps with fixed keys (they would keep random ones in writable data, which a program does
not have; Anchor uses a HashSet in every instruction that writes state), the generic io errors, and a System allocator
that always fails (the program's global allocator stands before it). A list's growth is made part of its callers: as
functions of their own its steps get six arguments, one more than this compiler can pass. One step stays a function
under "solana", whose programs are large and run without gaps between stack frames. Every edit must find its anchor
exactly as often as expected, or nothing is written: a newer library wants a look, not a guess.
"""

import pathlib
import shutil
import sys

ALLOCATOR = """use crate::alloc::{GlobalAlloc, Layout, System};

#[stable(feature = "alloc_system_type", since = "1.28.0")]
unsafe impl GlobalAlloc for System {
    #[inline]
    unsafe fn alloc(&self, _layout: Layout) -> *mut u8 {
        crate::ptr::null_mut()
    }
    #[inline]
    unsafe fn dealloc(&self, _ptr: *mut u8, _layout: Layout) {}
}

/// What LLVM calls where it proved that control cannot come.
#[unsafe(no_mangle)]
#[stable(feature = "alloc_system_type", since = "1.28.0")]
pub unsafe extern "C" fn __bpf_trap() -> ! {
    // The abort syscall by its murmur3 hash: syscalls are static on this target.
    let abort: extern "C" fn() -> ! = unsafe { crate::mem::transmute(0xb6fc1a11usize) };
    abort()
}
"""

KEYS = """        thread_local!(static KEYS: Cell<(u64, u64)> = {
            Cell::new(hashmap_random_keys())
        });

        KEYS.with(|keys| {
"""

# (file below std/src/sys, text to find, text to put in its place, how often it stands there)
EDITS = [
    (
        "alloc/mod.rs",
        '    target_os = "zkvm" => {\n',
        '    target_os = "solana" => {\n        mod solana;\n    }\n    target_os = "zkvm" => {\n',
        1,
    ),
    (
        "alloc/mod.rs",
        '    target_arch = "x86",\n    target_arch = "arm",',
        '    target_arch = "x86",\n    target_arch = "bpf",\n    target_arch = "arm",',
        1,
    ),
    (
        "io/error/mod.rs",
        'target_os = "zkvm",',
        'target_os = "zkvm",\n        target_os = "solana",',
        1,
    ),
    (
        "thread_local/mod.rs",
        'target_os = "zkvm",',
        'target_os = "zkvm",\n        target_os = "solana",',
        2,
    ),
    (
        "random/mod.rs",
        '        target_os = "xous",\n        target_os = "vexos",\n    ) =>',
        '        target_os = "xous",\n        target_os = "solana",\n        target_os = "vexos",\n    ) =>',
        1,
    ),
    (
        "random/mod.rs",
        '    target_os = "xous",\n    target_os = "vexos",\n)))]',
        '    target_os = "xous",\n    target_os = "solana",\n    target_os = "vexos",\n)))]',
        1,
    ),
    (
        "../hash/random.rs",
        KEYS,
        '        #[cfg(target_os = "solana")]\n        return RandomState { k0: 0, k1: 0 };\n\n'
        + KEYS.replace(
            "        thread",
            '        #[cfg(not(target_os = "solana"))]\n        thread',
            1,
        ).replace(
            "        KEYS.with",
            '        #[cfg(not(target_os = "solana"))]\n        KEYS.with',
            1,
        ),
        1,
    ),
    (
        "../../../alloc/src/raw_vec/mod.rs",
        "    #[cold]\n    unsafe fn finish_grow(",
        "    #[inline(always)]\n    unsafe fn finish_grow(",
        1,
    ),
    (
        "../../../alloc/src/raw_vec/mod.rs",
        "    unsafe fn grow_amortized(",
        '    #[cfg_attr(target_os = "none", inline(always))] unsafe fn grow_amortized(',
        1,
    ),
    (
        "../hash/random.rs",
        "use crate::cell::Cell;\n",
        '#[cfg(not(target_os = "solana"))]\nuse crate::cell::Cell;\n',
        1,
    ),
    (
        "../hash/random.rs",
        "use crate::sys::random::hashmap_random_keys;\n",
        '#[cfg(not(target_os = "solana"))]\nuse crate::sys::random::hashmap_random_keys;\n',
        1,
    ),
]


def main(source: pathlib.Path, dest: pathlib.Path) -> None:
    """Write the changed copy of ``source`` to ``dest``; exit non-zero, with the file named, if an anchor is missing."""
    edited: dict[pathlib.Path, str] = {}
    for name, old, new, times in EDITS:
        path = source / "std/src/sys" / name
        text = edited.get(path) or path.read_text(encoding="utf-8")
        if text.count(old) != times:
            sys.exit(
                f"{path}: expected {times} x {old!r}, found {text.count(old)}; these edits fit rustc 1.96's library"
            )
        edited[path] = text.replace(old, new)
    shutil.copytree(source, dest, dirs_exist_ok=True)
    for path, text in edited.items():
        (dest / path.relative_to(source)).write_text(text, encoding="utf-8")
    (dest / "std/src/sys/alloc/solana.rs").write_text(ALLOCATOR, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
