/** Derived addresses: sha256 of the seeds, off the curve of ed25519. */

import { base58Bytes, base58Text, joined } from "./bytes.js";
import { AccountError } from "./errors.js";
import { sha256 } from "./hashes.js";

const MOST_SEEDS = 16;
const LONGEST_SEED = 32;
const MARKER = new TextEncoder().encode("ProgramDerivedAddress");
const P = 2n ** 255n - 19n;
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/** The 32 bytes of an address, or AccountError with `place`. */
export function addressBytes(address: unknown, place: string): Uint8Array {
  const bytes = typeof address === "string" ? base58Bytes(address) : undefined;
  if (bytes?.length !== 32) throw new AccountError(place, "expected an address, base58 text of 32 bytes");
  return bytes;
}

function power(base: bigint, exponent: bigint): bigint {
  let out = 1n;
  for (let square = base, rest = exponent; rest > 0n; rest >>= 1n, square = (square * square) % P) {
    if (rest & 1n) out = (out * square) % P;
  }
  return out;
}

/** Is the address a point of ed25519? Then somebody may have its key, and it cannot be derived. */
export function isOnCurve(bytes: Uint8Array): boolean {
  let y = 0n;
  for (let i = 31; i >= 0; i -= 1) y = (y << 8n) | BigInt(i === 31 ? (bytes[i] as number) & 0x7f : (bytes[i] as number));
  y %= P;
  // x² = (y² - 1) / (d y² + 1) must be a square.
  const squared = (y * y) % P;
  const [u, v] = [(squared + P - 1n) % P, (D * squared + 1n) % P];
  const ratio = (u * power(v, P - 2n)) % P;
  if (ratio === 0n) return (bytes[31] as number) < 0x80; // the point with x = 0 has no sign
  return power(ratio, (P - 1n) / 2n) === 1n;
}

/** The address of the seeds under a program, and its bump. */
export function findProgramAddress(seeds: readonly Uint8Array[], program: Uint8Array, place = ""): { address: string; bump: number } {
  if (seeds.length >= MOST_SEEDS) throw new AccountError(place, `expected at most ${MOST_SEEDS - 1} seeds, got ${seeds.length}`);
  const long = seeds.findIndex((seed) => seed.length > LONGEST_SEED);
  if (long >= 0) throw new AccountError(place, `expected at most ${LONGEST_SEED} bytes of seed ${long + 1}, got ${seeds[long]?.length}`);
  for (let bump = 255; bump >= 0; bump -= 1) {
    const hash = sha256(joined([...seeds, Uint8Array.of(bump), program, MARKER]));
    if (!isOnCurve(hash)) return { address: base58Text(hash), bump };
  }
  throw new AccountError(place, "no bump gives an address for these seeds");
}
