/** The stream: the whole model of a program, in binary pages at high cursors that page 0 names. */

import { hexText, joined, utf8Text } from "./bytes.js";
import { DICTIONARY } from "./dictionary.js";
import { PageError } from "./errors.js";
import { crc32, sha256 } from "./hashes.js";
import { inflate, InflateError } from "./inflate.js";
import { isObject, type Json, JsonError, parseJson } from "./json.js";
import { fetchBytes, type FetchPage, firstPage, LAST_CURSOR, PAGE_LIMIT } from "./pages.js";
import type { Program } from "./program.js";
import { readModel } from "./model.js";

const HEAD = 9;
const CHUNK = PAGE_LIMIT - HEAD - 1;
const FRAMING = 1;
const END = 0xff;
/** The longest text that is unpacked. */
const LONGEST_TEXT = 32 * 1024 * 1024;

/** The place of the stream, as page 0 names it. */
export interface StreamReference {
  at: number;
  size: number;
  text: number;
  sha256: string;
}

/** The whole program, from its stream. Throws PageError if page 0 names none: use `listTools` then. */
export async function readStream(fetchPage: FetchPage): Promise<Program> {
  const page = await firstPage(fetchPage);
  const reference = readReference(page.document.stream);
  const packed = await fetchPacked(fetchPage, reference);
  return readModel(readText(packed, reference));
}

function readReference(value: Json | undefined): StreamReference {
  const { at, size, text, sha256: hash } = isObject(value) ? value : ({} as { [key: string]: Json });
  const isPossible =
    isPositive(at) &&
    isPositive(size) &&
    isPositive(text) &&
    text <= LONGEST_TEXT &&
    at + Math.ceil(size / CHUNK) - 1 <= LAST_CURSOR &&
    typeof hash === "string" &&
    /^[0-9a-f]{64}$/.test(hash);
  if (!isPossible) throw new PageError("page 0", 'expected "stream" with the cursor, both lengths and the sha256 of a stream');
  return { at, size, text, sha256: hash };
}

function isPositive(value: Json | undefined): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

async function fetchPacked(fetchPage: FetchPage, { at, size }: StreamReference): Promise<Uint8Array> {
  const count = Math.ceil(size / CHUNK);
  const chunks: Uint8Array[] = [];
  for (let place = 0; place < count; place += 1) {
    chunks.push(chunkOf(await fetchBytes(fetchPage, at + place), at + place, place, count));
  }
  const packed = joined(chunks);
  if (packed.length !== size) throw new PageError(`page ${at}`, `the stream has ${packed.length} bytes; page 0 announces ${size}`);
  return packed;
}

function chunkOf(page: Uint8Array, cursor: number, place: number, count: number): Uint8Array {
  const bad = (why: string): PageError => new PageError(`page ${cursor}`, why);
  if (page.length < HEAD + 2 || page[page.length - 1] !== END) throw bad("it is not a whole page of a stream");
  const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
  const framing = view.getUint8(0);
  if (framing !== FRAMING) throw bad(`its framing has version ${framing}; this reader knows ${FRAMING}`);
  const [givenPlace, givenCount] = [view.getUint16(1, true), view.getUint16(3, true)];
  if (givenPlace !== place || givenCount !== count) throw bad(`expected page ${place} of ${count}, got ${givenPlace} of ${givenCount}`);
  const chunk = page.subarray(HEAD, page.length - 1);
  if (crc32(chunk) !== view.getUint32(5, true)) throw bad("its checksum does not match its bytes");
  return chunk;
}

function readText(packed: Uint8Array, { at, text, sha256: wanted }: StreamReference): Json {
  const bad = (why: string): PageError => new PageError(`page ${at}`, `the stream: ${why}`);
  try {
    const bytes = inflate(packed, DICTIONARY, text);
    if (bytes.length !== text) throw bad(`it unpacks to ${bytes.length} bytes; page 0 announces ${text}`);
    if (hexText(sha256(bytes)) !== wanted) throw bad("its sha256 is not the one that page 0 announces");
    const found = utf8Text(bytes);
    if (found === undefined) throw bad("its text is not UTF-8");
    return parseJson(found);
  } catch (error) {
    if (error instanceof InflateError || error instanceof JsonError) throw bad(error.message);
    throw error;
  }
}
