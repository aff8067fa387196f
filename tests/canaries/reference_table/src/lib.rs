//! A table of references, indexed at run time: the linker has to relocate each of its addresses.
#![no_std]

harness::canary!(answer);

static TABLE: [&[u8]; 5] = [b"zero", b"one", b"twenty-two", b"", b"four"];

fn answer(question: &[u8], answer: &mut [u8; 1024]) -> Option<usize> {
    harness::put(answer, TABLE.get(usize::from(*question.first()?))?)
}
