/** Bytes and their texts: hex, base58, base64 and UTF-8. */

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const LONGEST_BASE58 = 8192;
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The bytes of hex text, or undefined. */
export function hexBytes(text: string): Uint8Array | undefined {
  if (text.length % 2 || !/^[0-9a-fA-F]*$/.test(text)) return undefined;
  const out = new Uint8Array(text.length / 2);
  for (let i = 0; i < out.length; i += 1) out[i] = Number.parseInt(text.slice(2 * i, 2 * i + 2), 16);
  return out;
}

/** Lower-case hex. */
export function hexText(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The bytes of base58 text, or undefined. The text may have 8,192 characters: decoding takes the square of them. */
export function base58Bytes(text: string): Uint8Array | undefined {
  if (text.length > LONGEST_BASE58) return undefined;
  const digits: number[] = [];
  for (const char of text) {
    let carry = ALPHABET.indexOf(char);
    if (carry < 0) return undefined;
    for (let i = 0; i < digits.length; i += 1) {
      carry += (digits[i] as number) * 58;
      digits[i] = carry & 0xff;
      carry >>= 8;
    }
    for (; carry; carry >>= 8) digits.push(carry & 0xff);
  }
  const zeros = /^1*/.exec(text)?.[0].length ?? 0;
  return Uint8Array.from([...new Array<number>(zeros).fill(0), ...digits.reverse()]);
}

/** Base58 text. */
export function base58Text(bytes: Uint8Array): string {
  const digits: number[] = [];
  let zeros = 0;
  while (bytes[zeros] === 0) zeros += 1;
  for (const byte of bytes.subarray(zeros)) {
    let carry = byte;
    for (let i = 0; i < digits.length; i += 1) {
      carry += (digits[i] as number) << 8;
      digits[i] = carry % 58;
      carry = Math.floor(carry / 58);
    }
    for (; carry; carry = Math.floor(carry / 58)) digits.push(carry % 58);
  }
  return "1".repeat(zeros) + digits.reverse().map((digit) => ALPHABET.charAt(digit)).join("");
}

/** The bytes of base64 text with its padding, or undefined. */
export function base64Bytes(text: string): Uint8Array | undefined {
  if (text.length % 4 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

/** Base64 text. */
export function base64Text(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** UTF-8, or undefined for text with half a surrogate pair, which has none. */
export function utf8Bytes(text: string): Uint8Array | undefined {
  return /[\ud800-\udfff]/u.test(text) ? undefined : encoder.encode(text);
}

/** The text of UTF-8, or undefined. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** One array of all. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** Are these the same bytes? */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** Where `wanted` begins in `bytes`, or -1. */
export function indexOfBytes(bytes: Uint8Array, wanted: Uint8Array): number {
  for (let at = 0; at + wanted.length <= bytes.length; at += 1) {
    if (sameBytes(bytes.subarray(at, at + wanted.length), wanted)) return at;
  }
  return -1;
}

/** The bytes without the zeros at their end. */
export function withoutZerosAtEnd(bytes: Uint8Array): Uint8Array {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end -= 1;
  return bytes.subarray(0, end);
}

/** An integer in Solana's compact-u16: seven bits a byte, the low ones first. */
export function compactU16(number: number): Uint8Array {
  if (number < 0x80) return Uint8Array.of(number);
  if (number < 0x4000) return Uint8Array.of((number & 0x7f) | 0x80, number >> 7);
  return Uint8Array.of((number & 0x7f) | 0x80, ((number >> 7) & 0x7f) | 0x80, number >> 14);
}
