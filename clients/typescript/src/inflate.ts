/**
 * Raw DEFLATE (RFC 1951) with a preset dictionary and a limit.
 *
 * Browsers' DecompressionStream takes no dictionary, so the package has its own, the same everywhere. The output never
 * grows past the limit: a malicious program may serve a decompression bomb.
 */

/** Thrown by `inflate`; its caller names the place. */
export class InflateError extends Error {}

const LENGTH_BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCE_BASE = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
const DISTANCE_BITS = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];
/** The order in which a block gives the lengths of the codes for code lengths. */
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const LONGEST_CODE = 15;
const WINDOW = 32_768;

/** A Huffman code: how many codes have each length, and the symbols in the order of their codes. */
interface Huffman {
  counts: Uint16Array;
  symbols: Uint16Array;
}

function huffman(lengths: readonly number[]): Huffman {
  const counts = new Uint16Array(LONGEST_CODE + 1);
  for (const length of lengths) counts[length] = (counts[length] as number) + 1;
  const offsets = new Uint16Array(LONGEST_CODE + 2);
  let free = 1;
  for (let length = 1; length <= LONGEST_CODE; length += 1) {
    free = 2 * free - (counts[length] as number);
    if (free < 0) throw new InflateError("a block has too many codes of one length");
    offsets[length + 1] = (offsets[length] as number) + (counts[length] as number);
  }
  const symbols = new Uint16Array(lengths.length);
  lengths.forEach((length, symbol) => {
    if (length === 0) return;
    const place = offsets[length] as number;
    symbols[place] = symbol;
    offsets[length] = place + 1;
  });
  return { counts, symbols };
}

const repeated = (length: number, times: number): number[] => new Array<number>(times).fill(length);
const FIXED_LITERALS = huffman([...repeated(8, 144), ...repeated(9, 112), ...repeated(7, 24), ...repeated(8, 8)]);
const FIXED_DISTANCES = huffman(repeated(5, 30));

class Inflater {
  private at = 0;
  private bitBuffer = 0;
  private bitCount = 0;
  private size: number;
  private out: Uint8Array;

  constructor(
    private readonly data: Uint8Array,
    private readonly dictionary: Uint8Array,
    private readonly limit: number,
  ) {
    this.size = dictionary.length;
    this.out = new Uint8Array(dictionary.length + Math.min(limit, 4 * data.length));
    this.out.set(dictionary);
  }

  run(): Uint8Array {
    let isLast = false;
    while (!isLast) {
      isLast = this.bits(1) === 1;
      this.block(this.bits(2));
    }
    if (this.at !== this.data.length) throw new InflateError("bytes are left over after the last block");
    return this.out.subarray(this.dictionary.length, this.size);
  }

  private block(kind: number): void {
    if (kind === 0) this.stored();
    else if (kind === 1) this.coded(FIXED_LITERALS, FIXED_DISTANCES);
    else if (kind === 2) this.dynamic();
    else throw new InflateError("a block has an unknown kind");
  }

  private bits(count: number): number {
    while (this.bitCount < count) {
      const byte = this.data[this.at];
      if (byte === undefined) throw new InflateError("the data ends too early");
      this.bitBuffer |= byte << this.bitCount;
      this.bitCount += 8;
      this.at += 1;
    }
    const found = this.bitBuffer & ((1 << count) - 1);
    this.bitBuffer >>>= count;
    this.bitCount -= count;
    return found;
  }

  private symbol({ counts, symbols }: Huffman): number {
    let code = 0;
    let first = 0;
    let index = 0;
    for (let length = 1; length <= LONGEST_CODE; length += 1) {
      code |= this.bits(1);
      const count = counts[length] as number;
      if (code - count < first) return symbols[index + (code - first)] as number;
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    throw new InflateError("a code stands for nothing");
  }

  /** Makes room for `more` bytes. Refuses to pass the limit. */
  private reserve(more: number): void {
    const wanted = this.size + more;
    if (wanted - this.dictionary.length > this.limit) {
      throw new InflateError(`it unpacks to more than the ${this.limit} bytes that are announced`);
    }
    if (wanted <= this.out.length) return;
    const most = this.dictionary.length + this.limit;
    const larger = new Uint8Array(Math.min(most, Math.max(wanted, 2 * this.out.length)));
    larger.set(this.out.subarray(0, this.size));
    this.out = larger;
  }

  private stored(): void {
    this.bitBuffer = 0;
    this.bitCount = 0;
    const length = this.bits(8) | (this.bits(8) << 8);
    const inverse = this.bits(8) | (this.bits(8) << 8);
    const end = this.at + length;
    if ((length ^ inverse) !== 0xffff || end > this.data.length) {
      throw new InflateError("a stored block has a wrong length");
    }
    this.reserve(length);
    this.out.set(this.data.subarray(this.at, end), this.size);
    this.size += length;
    this.at = end;
  }

  private coded(literals: Huffman, distances: Huffman): void {
    for (;;) {
      const symbol = this.symbol(literals);
      if (symbol === 256) return;
      if (symbol < 256) {
        this.reserve(1);
        this.out[this.size] = symbol;
        this.size += 1;
      } else {
        this.copy(symbol - 257, distances);
      }
    }
  }

  private copy(place: number, distances: Huffman): void {
    const base = LENGTH_BASE[place];
    if (base === undefined) throw new InflateError("a length code stands for nothing");
    const length = base + this.bits(LENGTH_BITS[place] as number);
    const far = this.symbol(distances);
    const farBase = DISTANCE_BASE[far];
    if (farBase === undefined) throw new InflateError("a distance code stands for nothing");
    const distance = farBase + this.bits(DISTANCE_BITS[far] as number);
    if (distance > this.size || distance > WINDOW) throw new InflateError("a distance goes back too far");
    this.reserve(length);
    for (let i = 0; i < length; i += 1) this.out[this.size + i] = this.out[this.size + i - distance] as number;
    this.size += length;
  }

  private dynamic(): void {
    const literalCount = this.bits(5) + 257;
    const distanceCount = this.bits(5) + 1;
    const codeCount = this.bits(4) + 4;
    if (literalCount > 286 || distanceCount > 30) throw new InflateError("a block has too many codes");
    const codeLengths = repeated(0, ORDER.length);
    for (const place of ORDER.slice(0, codeCount)) codeLengths[place] = this.bits(3);
    const lengths = this.lengths(huffman(codeLengths), literalCount + distanceCount);
    if (lengths[256] === 0) throw new InflateError("a block has no end");
    this.coded(huffman(lengths.slice(0, literalCount)), huffman(lengths.slice(literalCount)));
  }

  private lengths(code: Huffman, count: number): number[] {
    const found: number[] = [];
    while (found.length < count) {
      const symbol = this.symbol(code);
      if (symbol < 16) found.push(symbol);
      else found.push(...this.run16(symbol, found));
    }
    if (found.length > count) throw new InflateError("a block repeats a length too often");
    return found;
  }

  private run16(symbol: number, before: readonly number[]): number[] {
    if (symbol === 17) return repeated(0, 3 + this.bits(3));
    if (symbol === 18) return repeated(0, 11 + this.bits(7));
    const last = before[before.length - 1];
    if (last === undefined) throw new InflateError("a block repeats a length before the first");
    return repeated(last, 3 + this.bits(2));
  }
}

/** The unpacked bytes, at most `limit`. Throws InflateError if `data` is not exactly one raw DEFLATE stream. */
export function inflate(data: Uint8Array, dictionary: Uint8Array, limit: number): Uint8Array {
  return new Inflater(data, dictionary, limit).run();
}
