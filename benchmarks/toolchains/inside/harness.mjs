// Runs the tests of one task in node, and prints a test's key once it has passed. Its text is put together by
// javascript.py: KEYS, NAMES, PROGRAM, FILES and the files of this folder's run are filled in above.
import { createRequire } from 'node:module';
import { writeSync, unlinkSync, readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

const write = writeSync, load = createRequire(import.meta.url), exit = process.exit.bind(process);
const letter = String.fromCharCode, is = Object.is, names = Object.keys, kind = Object.prototype.toString;
const bare = Function.prototype.call.bind(kind), own = Function.prototype.call.bind(Object.prototype.hasOwnProperty);
const isArray = Array.isArray, listed = Array.from, near = Math.abs, power = Math.pow, test_ = Function.prototype.call.bind(RegExp.prototype.test);
const contains = Function.prototype.call.bind(String.prototype.includes);

// What the tests use must be what it was: the intrinsics are frozen by node's flag, their names here.
for (const name of Object.getOwnPropertyNames(globalThis)) {
  const found = Object.getOwnPropertyDescriptor(globalThis, name);
  if (found.configurable && 'value' in found && /^[A-Z]|^console$/.test(name)) {
    Object.defineProperty(globalThis, name, { value: found.value, writable: false, configurable: false, enumerable: found.enumerable });
  }
}

const wrong = (site, text) => write(1, `\n# ${site} ${`${text}`.split('\n').join(' ').slice(0, 300)}\n`);
const passed = (site) => {
  let key = '\n';
  for (let at = 0; at < KEYS[site][0].length; at++) key += letter(KEYS[site][0][at] ^ KEYS[site][1][at]);
  write(1, key + '\n');
};

const shown = (value) => {
  try {
    return typeof value === 'string' ? `'${value}'` : isArray(value) ? `[${value.map(shown)}]` : typeof value === 'object' && value ? JSON.stringify(value) : String(value);
  } catch {
    return 'something';
  }
};

// Equality as Jest's toEqual has it: by content, undefined properties do not count; `strict`, they do, and kinds must agree.
const equal = (a, b, strict = false) => {
  if (is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null || bare(a) !== bare(b)) return false;
  if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (a instanceof Error && b instanceof Error) return a.message === b.message;
  if (a instanceof Date || a instanceof RegExp || a instanceof Number || a instanceof String || a instanceof Boolean) return `${a}` === `${b}` && +a === +b || `${a}` === `${b}` && a instanceof RegExp;
  if (a instanceof Set && b instanceof Set) return a.size === b.size && listed(a).every((x) => listed(b).some((y) => equal(x, y, strict)));
  if (a instanceof Map && b instanceof Map) return a.size === b.size && listed(a).every((x) => listed(b).some((y) => equal(x, y, strict)));
  if (isArray(a) && a.length !== b.length) return false;
  const keys = new Set([...names(a), ...names(b)]);
  for (const key of keys) {
    if (strict && own(a, key) !== own(b, key)) return false;
    if (!equal(a[key], b[key], strict)) return false;
  }
  return true;
};

const fits = (error, wanted) => {
  if (wanted === undefined) return true;
  const message = error !== null && typeof error === 'object' && 'message' in error ? error.message : error;
  if (typeof wanted === 'string') return contains(`${message}`, wanted);
  if (wanted instanceof RegExp) return test_(wanted, message);
  if (typeof wanted === 'function') return error instanceof wanted;
  return message === wanted.message;
};

class Failed extends Error {}

let asked = 0; // expectations of the test that runs
const MATCHERS = {
  toBe: (got, want) => is(got, want),
  toEqual: (got, want) => equal(got, want),
  toStrictEqual: (got, want) => equal(got, want, true),
  toBeCloseTo: (got, want, digits = 2) => is(got, want) || near(got - want) < power(10, -digits) / 2,
  toBeInstanceOf: (got, want) => got instanceof want,
  toBeNull: (got) => got === null,
  toBeUndefined: (got) => got === undefined,
  toBeDefined: (got) => got !== undefined,
  toBeNaN: (got) => is(got, NaN),
  toBeTruthy: (got) => !!got,
  toBeFalsy: (got) => !got,
  toBeGreaterThan: (got, want) => got > want,
  toBeGreaterThanOrEqual: (got, want) => got >= want,
  toBeLessThan: (got, want) => got < want,
  toBeLessThanOrEqual: (got, want) => got <= want,
  toHaveLength: (got, want) => got.length === want,
  toContain: (got, want) => (typeof got === 'string' ? contains(got, want) : listed(got).some((each) => is(each, want))),
  toContainEqual: (got, want) => listed(got).some((each) => equal(each, want)),
  toMatch: (got, want) => (typeof want === 'string' ? contains(got, want) : test_(want, got)),
  toThrow: (got, want) => {
    try {
      got();
    } catch (error) {
      return fits(error, want);
    }
    return false;
  },
};
MATCHERS.toThrowError = MATCHERS.toThrow;

const expectations = (got, negated, wait) => {
  const made = {};
  for (const [name, matcher] of Object.entries(MATCHERS)) {
    const judge = (value, args) => {
      if (matcher(value, ...args) === negated) throw new Failed(`${shown(value)} ${negated ? 'not ' : ''}${name} ${args.map(shown)}`);
      asked++;
    };
    made[name] = wait ? async (...args) => judge(await wait(got, name), args) : (...args) => judge(got, args);
  }
  return made;
};
const resolves = (got) => got;
const rejects = (got, name) => got.then(
  () => { throw new Failed('it does not reject'); },
  (error) => (name.startsWith('toThrow') ? () => { throw error; } : error),
);
const expect = (got) => ({
  ...expectations(got, false),
  not: expectations(got, true),
  resolves: { ...expectations(got, false, resolves), not: expectations(got, true, resolves) },
  rejects: { ...expectations(got, false, rejects), not: expectations(got, true, rejects) },
});

// describe, test and hooks, in the order in which they stand. SITE(k) is the test of the k-th place in the files.
const found = [];
let group = { before: [], after: [], all: [] };
const describe = (name, body) => {
  const outer = group;
  group = { before: [...outer.before], after: [...outer.after], all: [...outer.all] };
  body();
  group = outer;
};
describe.skip = describe.only = describe;
const site = (number) => {
  const add = (name, body) => { found.push({ number, name, body, group }); };
  add.only = add.skip = add;
  add.each = (table) => (name, body) => {
    for (const row of table) {
      const given = isArray(row) ? row : [row];
      add(name, body.length > given.length ? (done) => body(...given, done) : () => body(...given));
    }
  };
  return add;
};

const settled = (body) => new Promise((resolve, reject) => {
  const calls = body.length > 0 && body((error) => (error ? reject(error) : resolve()));
  if (body.length === 0) Promise.resolve(body()).then(resolve, reject);
  else if (calls && typeof calls.then === 'function') calls.then(undefined, reject);
});

const runAll = async () => {
  const failed = new Set(), ran = new Set(), once = new Set();
  for (const { number, body, group } of found) {
    asked = 0;
    try {
      for (const hook of group.all) if (!once.has(hook)) { once.add(hook); await settled(hook); }
      for (const hook of group.before) await settled(hook);
      await settled(body);
      for (const hook of group.after) await settled(hook);
      if (!asked) throw new Failed('the test expects nothing');
      ran.add(number);
    } catch (error) {
      if (!failed.has(number)) wrong(number, error instanceof Failed ? error.message : error);
      failed.add(number);
    }
  }
  return [...ran].filter((number) => !failed.has(number));
};

if (PROGRAM !== null) {
  unlinkSync(fileURLToPath(import.meta.url));
  const solution = load(FILES[0]);
  let misses = 0;
  const assert = (ok, ...rest) => {
    asked++;
    if (!ok && !misses++) wrong(0, `assertion ${asked} does not hold ${rest.map(shown)}`);
  };
  const quiet = { assert, log() {}, error() {}, info() {}, warn() {} };
  try {
    PROGRAM({ ...solution, console: quiet, require: load });
    if (!misses && asked) passed(0);
  } catch (error) {
    wrong(0, error);
  }
} else {
  const before = (list) => (body) => { group[list].push(body); };
  Object.assign(globalThis, {
    describe, xdescribe: describe, fdescribe: describe, expect, [SITE]: site,
    beforeEach: before('before'), afterEach: before('after'), beforeAll: before('all'), afterAll() {},
    jest: { setTimeout() {}, fn: () => { throw new Failed('jest.fn is not here'); } },
  });
  for (const name of ['describe', 'xdescribe', 'fdescribe', 'expect', SITE, 'beforeEach', 'afterEach', 'beforeAll', 'afterAll', 'jest']) {
    Object.defineProperty(globalThis, name, { writable: false, configurable: false });
  }
  unlinkSync(fileURLToPath(import.meta.url));
  for (const file of FILES) {
    try {
      await import(pathToFileURL(file));
    } catch (error) {
      wrong(0, error);
    }
  }
  for (const number of await runAll()) passed(number);
}
exit(0);
