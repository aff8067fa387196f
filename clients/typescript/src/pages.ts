/** JSON pages of list_tools: every page by its cursor, joined and read as tools and types. */

import { utf8Text, withoutZerosAtEnd } from "./bytes.js";
import { PageError } from "./errors.js";
import { isObject, type Json, JsonError, type JsonObject, parseJson } from "./json.js";
import type { TypeDefinition } from "./nodes.js";
import { Program } from "./program.js";
import { Budget, readDefinition } from "./read_nodes.js";
import { readTool } from "./read_tool.js";
import { cleanText } from "./text.js";

/** The page at a cursor, as the program returned it; empty, null or undefined if there is none. */
export type FetchPage = (cursor: number) => Promise<Uint8Array | null | undefined> | Uint8Array | null | undefined;

/** The most bytes of return data. */
export const PAGE_LIMIT = 1024;
export const LAST_CURSOR = 0xffff;
/** The most JSON pages, and the most rows of one program, and the most characters of rows that are split. */
const MOST_PAGES = 2048;
const MOST_ROWS = 8192;
const MOST_SPLIT = 4 * 1024 * 1024;
const LIST_TOOLS = Uint8Array.of(0x42, 0x19, 0x5e, 0x6a, 0x55, 0xfd, 0x41, 0xc0);

/** One JSON page as it was read. */
export interface Page {
  cursor: number;
  document: JsonObject;
  /** Does the page follow docs/wire.md? Else mcpsol's own writer made it. */
  isOurs: boolean;
  nextCursor: number | null;
}

/** The instruction data that asks for the page at `cursor`. */
export function listToolsData(cursor = 0): Uint8Array {
  if (!Number.isInteger(cursor) || cursor < 0 || cursor > LAST_CURSOR) {
    throw new PageError(`page ${cursor}`, `expected a cursor from 0 to ${LAST_CURSOR}`);
  }
  const suffix = cursor === 0 ? [] : cursor < 256 ? [cursor] : [cursor & 0xff, cursor >> 8];
  return Uint8Array.from([...LIST_TOOLS, ...suffix]);
}

/** The bytes of the page at `cursor`, without the zeros that follow it. */
export async function fetchBytes(fetchPage: FetchPage, cursor: number): Promise<Uint8Array> {
  const found = await fetchPage(cursor);
  if (!found || found.length === 0) throw new PageError(`page ${cursor}`, "the program returned no data");
  if (found.length > PAGE_LIMIT) throw new PageError(`page ${cursor}`, `expected at most ${PAGE_LIMIT} bytes, got ${found.length}`);
  return withoutZerosAtEnd(found);
}

/** The JSON page in `bytes`. */
export function readPage(bytes: Uint8Array, cursor: number): Page {
  const place = `page ${cursor}`;
  const document = parsed(bytes, place);
  if (!isObject(document) || !Array.isArray(document.tools)) {
    throw new PageError(place, 'expected an object with a list of "tools"');
  }
  return { cursor, document, isOurs: document.x === 1, nextCursor: nextCursor(document.nextCursor, place) };
}

function parsed(bytes: Uint8Array, place: string): Json {
  const text = utf8Text(bytes);
  if (text === undefined) throw new PageError(place, "expected JSON in UTF-8, got other bytes");
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonError) throw new PageError(place, `not JSON: ${error.message}`);
    throw error;
  }
}

function nextCursor(value: Json | undefined, place: string): number | null {
  if (value === undefined || value === null) return null;
  const number = typeof value === "string" && /^[0-9]{1,5}$/.test(value) ? Number(value) : value;
  if (Number.isInteger(number) && (number as number) >= 0 && (number as number) <= LAST_CURSOR) return number as number;
  throw new PageError(place, `its nextCursor is not a number from 0 to ${LAST_CURSOR}`);
}

/** All JSON pages, in the order of their cursors. */
async function allPages(fetchPage: FetchPage): Promise<Page[]> {
  const pages: Page[] = [];
  const seen = new Set<number>();
  let rows = 0;
  for (let cursor: number | null = 0; cursor !== null; ) {
    if (seen.has(cursor)) throw new PageError(`page ${cursor}`, "the list names a page that was read before");
    if (seen.size === MOST_PAGES) throw new PageError(`page ${cursor}`, `the list has more than ${MOST_PAGES} pages`);
    seen.add(cursor);
    const page = readPage(await fetchBytes(fetchPage, cursor), cursor);
    for (const key of ["tools", "more", "types"]) rows += listOn(page, key).length;
    if (rows > MOST_ROWS) throw new PageError(`page ${cursor}`, `the pages have more than ${MOST_ROWS} rows`);
    pages.push(page);
    cursor = page.nextCursor;
  }
  return pages;
}

/** A list of a page. mcpsol's own pages have only "tools". */
function listOn(page: Page, key: string): Json[] {
  const value = key === "tools" || page.isOurs ? page.document[key] ?? [] : [];
  if (!Array.isArray(value)) throw new PageError(`page ${page.cursor}`, `its "${key}" is not a list`);
  return value;
}

// --- what is split over pages -----------------------------------------------------------------------------------------

/** Joins objects that are split: [number, object], or [number, place, count, text] once for each place, in order. */
class Joiner {
  private number = 0;
  private count = 0;
  private size = 0;
  private pieces: string[] = [];

  constructor(private readonly key: string) {}

  /** The number and the object, or undefined while parts of it are missing. */
  add(entry: Json, page: number): [number, JsonObject] | undefined {
    const [number, second, count, piece] = Array.isArray(entry) ? entry : [];
    if (!isNumber(number)) throw this.bad(page, "an entry has no number");
    if (Array.isArray(entry) && entry.length === 2 && isObject(second)) {
      if (this.pieces.length > 0) throw this.bad(page, "a part is missing before this entry");
      return [number, second];
    }
    if (!isNumber(second) || !isNumber(count) || typeof piece !== "string") throw this.bad(page, "an entry is neither whole nor a part");
    if (this.pieces.length === 0) [this.number, this.count] = [number, count];
    const isNext = number === this.number && second === this.pieces.length && count === this.count && second < count;
    if (!isNext) throw this.bad(page, `expected part ${this.pieces.length} of ${this.count} of ${this.number}, got part ${second} of ${count} of ${number}`);
    this.pieces.push(piece);
    this.size += piece.length;
    if (this.size > MOST_SPLIT) throw this.bad(page, `its parts have more than ${MOST_SPLIT} characters`);
    return this.pieces.length === this.count ? [number, this.whole(page)] : undefined;
  }

  private whole(page: number): JsonObject {
    const text = this.pieces.join("");
    this.pieces = [];
    const value = parsed(new TextEncoder().encode(text), `page ${page}`);
    if (!isObject(value)) throw this.bad(page, "the parts are no object together");
    return value;
  }

  finish(page: number): void {
    if (this.pieces.length > 0) throw this.bad(page, `the pages end after ${this.pieces.length} of ${this.count} parts`);
  }

  private bad(page: number, why: string): PageError {
    return new PageError(`page ${page}`, `under "${this.key}": ${why}`);
  }
}

function isNumber(value: Json | undefined): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

// --- the program ------------------------------------------------------------------------------------------------------

/** Tools and types of a program, from its JSON pages. `fetchPage` is asked for each cursor in turn. */
export async function listTools(fetchPage: FetchPage): Promise<Program> {
  return programOf(await allPages(fetchPage));
}

function programOf(pages: readonly Page[]): Program {
  const [first] = pages as [Page, ...Page[]];
  const last = pages[pages.length - 1]?.cursor ?? 0;
  const rows = pages.flatMap((page) => listOn(page, "tools").map((row) => ({ row: toolRow(row, page), page })));
  for (const [number, members] of joinedMore(pages, last)) {
    const found = rows[number];
    if (!found) throw new PageError(`page ${last}`, `"more" is about tool ${number}, and there are ${rows.length}`);
    // The object itself changes, since repeated keys are remembered for it.
    Object.assign(found.row, members);
  }
  const tools = rows.map(({ row, page }) => readTool(row, page.cursor, page.isOurs));
  return new Program({
    name: textOr(first.document.name, 256),
    tools: tools.filter((tool) => !isListTools(tool.discriminator.bytes)),
    types: joinedTypes(pages, last),
    facade: first.isOurs && typeof first.document.facade === "string" ? cleanText(first.document.facade, 44) : null,
  });
}

function toolRow(row: Json, page: Page): JsonObject {
  if (!isObject(row)) throw new PageError(`page ${page.cursor}`, "a tool is not an object");
  return row;
}

function joinedMore(pages: readonly Page[], last: number): [number, JsonObject][] {
  const joiner = new Joiner("more");
  const found = pages.flatMap((page) => listOn(page, "more").flatMap((entry) => [joiner.add(entry, page.cursor) ?? []]));
  joiner.finish(last);
  return found.filter((entry): entry is [number, JsonObject] => entry.length > 0);
}

function joinedTypes(pages: readonly Page[], last: number): TypeDefinition[] {
  const joiner = new Joiner("types");
  const found: TypeDefinition[] = [];
  for (const page of pages) {
    for (const entry of listOn(page, "types")) {
      const whole = joiner.add(Array.isArray(entry) ? [0, ...entry] : [0, entry], page.cursor);
      if (whole) found.push(readDefinition(whole[1], new Budget(`page ${page.cursor}, a type`)));
    }
  }
  joiner.finish(last);
  return found;
}

function textOr(value: Json | undefined, limit: number): string {
  return typeof value === "string" ? cleanText(value, limit) : "";
}

function isListTools(bytes: Uint8Array): boolean {
  return bytes.length === LIST_TOOLS.length && bytes.every((byte, i) => byte === LIST_TOOLS[i]);
}

/** Page 0 alone, which names the stream. */
export async function firstPage(fetchPage: FetchPage): Promise<Page> {
  return readPage(await fetchBytes(fetchPage, 0), 0);
}

