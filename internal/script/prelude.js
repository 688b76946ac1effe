// What a program finds in its realm. It runs once, when the image of all realms is made.
(function () {
  'use strict';
  const host = globalThis.__host;
  delete globalThis.__host;
  const { stringify, parse } = JSON;
  const pending = new Map();
  let next = 0;
  let steps = 0;

  // toJSON is a value as it crosses the border; what JSON does not know is null.
  const toJSON = (value) => {
    const text = stringify(value);
    return text === undefined ? null : parse(text);
  };

  const effect = (request) =>
    new Promise((resolve, reject) => {
      const id = next++;
      // What the host refuses at once leaves no trace.
      const refused = host('effect', stringify({ ...request, id }));
      if (refused !== undefined) reject(failure(parse(refused)));
      else pending.set(id, { resolve, reject });
    });
  const note = (entry) => void host('note', stringify(entry));

  const failure = (f) => {
    const e = new Error(f.message);
    e.name = 'ScriptError';
    return Object.assign(e, { code: f.code, retryable: f.retryable === true, detail: f.detail, tool: f.tool, callSeq: f.callSeq });
  };

  const need = (holds, message) => {
    if (!holds) throw new TypeError(message);
  };
  const duration = (ms, what) => {
    need(typeof ms === 'number' && ms >= 0 && ms <= 366 * 24 * 3600e3, `${what} takes milliseconds, from 0 to a year`);
    return Math.ceil(ms);
  };
  const thunk = (f) => {
    need(typeof f === 'function', 'ctx.parallel takes functions: [() => ctx.call(…), …]');
    return f();
  };

  const contextOf = (input, runId) => {
    const delegate = (spec) => {
      need(spec !== null && typeof spec === 'object', 'ctx.delegate takes an object: {brief, …}');
      return effect({ op: 'agent', input: toJSON(spec) });
    };
    return Object.freeze({
      input,
      runId,
      call(tool, args, options) {
        need(typeof tool === 'string' && tool !== '', 'ctx.call takes the name of a tool');
        return effect({ op: 'tool', tool, input: toJSON(args === undefined ? {} : args), description: options?.description });
      },
      delegate,
      agent: delegate,
      parallel: (thunks) => Promise.all(Array.from(thunks, thunk)),
      parallelSettled: (thunks) => Promise.allSettled(Array.from(thunks, thunk)),
      sleep: (ms) => effect({ op: 'sleep', ms: duration(ms, 'ctx.sleep') }),
      waitForEvent(match, options) {
        const request = { op: 'wait', match: toJSON(match ?? {}), label: options?.label };
        if (options?.timeoutMs !== undefined) request.ms = duration(options.timeoutMs, 'timeoutMs');
        return effect(request);
      },
      continueAsNew: (state) => effect({ op: 'continue', input: toJSON(state) }),
      minutes: (n) => n * 60e3,
      hours: (n) => n * 3600e3,
      now: () => Number(host('now', '')),
      log(level, message, data) {
        need(['debug', 'info', 'warn', 'error'].includes(level), 'ctx.log takes debug, info, warn or error, and then a message');
        note({ kind: 'log', level, message: String(message), data: data === undefined ? undefined : toJSON(data) });
      },
      progress: (patch) => void host('progress', stringify(toJSON(patch))),
      plan: (plan) => note({ kind: 'plan', plan: toJSON(plan) }),
      async step(label, fn) {
        need(typeof fn === 'function', 'ctx.step takes a label and a function');
        const stepId = String(++steps);
        note({ kind: 'step', stepId, label: String(label), phase: 'start' });
        let ok = false;
        try {
          const value = await fn();
          ok = true;
          return value;
        } finally {
          note({ kind: 'step', stepId, label: String(label), phase: 'end', ok });
        }
      },
    });
  };

  // told is what an error of a program says besides its text, as far as it has the form of a failure.
  const told = (e) => ({
    code: typeof e.code === 'string' ? e.code : undefined,
    retryable: e.retryable === true,
    detail: toJSON(e.detail),
    tool: typeof e.tool === 'string' ? e.tool : undefined,
    callSeq: Number.isSafeInteger(e.callSeq) ? e.callSeq : undefined,
  });
  // thrown is what a program threw, as JSON. What cannot be told must not keep it from ending.
  const thrown = (e) => {
    try {
      if (e instanceof Error) return stringify({ name: String(e.name), message: String(e.message), stack: String(e.stack), ...told(e) });
      return stringify({ message: typeof e === 'string' ? e : `a value that is no Error was thrown: ${stringify(e)}` });
    } catch {
      return stringify({ message: 'a value that cannot be told was thrown' });
    }
  };

  const AsyncFunction = (async () => {}).constructor;

  Object.defineProperties(globalThis, {
    // __kind tells the host what the module exports, before it is run.
    __kind: {
      value: () => __module.then((m) => host('kind', m.default instanceof AsyncFunction ? 'async' : typeof m.default), (e) => host('failed', thrown(e))),
    },
    __start: {
      value: (input, runId) => {
        const given = parse(input);
        __module
          .then((m) => m.default(given, contextOf(given, runId)))
          .then((v) => stringify(v) ?? 'null')
          .then((text) => host('done', text), (e) => host('failed', thrown(e)));
      },
    },
    // __settle gives an effect what it was waiting for.
    __settle: {
      value: (id, ok, value) => {
        const p = pending.get(Number(id));
        if (p === undefined) return;
        pending.delete(Number(id));
        if (ok === 'true') p.resolve(parse(value));
        else p.reject(failure(parse(value)));
      },
    },
  });

  // A program makes no code out of text, and shares no memory.
  const refuse = function () {
    throw new TypeError('scripts do not make code out of text');
  };
  for (const f of [function () {}, async function () {}, function* () {}, async function* () {}]) {
    Object.defineProperty(Object.getPrototypeOf(f), 'constructor', { value: refuse });
  }
  for (const name of ['eval', 'Function', 'SharedArrayBuffer', 'Atomics', 'WeakRef', 'FinalizationRegistry', 'performance']) delete globalThis[name];

  globalThis.TextEncoder = class TextEncoder {
    get encoding() {
      return 'utf-8';
    }
    encode(text = '') {
      const out = [];
      for (const c of String(text).toWellFormed()) {
        const p = c.codePointAt(0);
        if (p < 0x80) out.push(p);
        else if (p < 0x800) out.push(0xc0 | (p >> 6), 0x80 | (p & 63));
        else if (p < 0x10000) out.push(0xe0 | (p >> 12), 0x80 | ((p >> 6) & 63), 0x80 | (p & 63));
        else out.push(0xf0 | (p >> 18), 0x80 | ((p >> 12) & 63), 0x80 | ((p >> 6) & 63), 0x80 | (p & 63));
      }
      return new Uint8Array(out);
    }
  };
  globalThis.TextDecoder = class TextDecoder {
    constructor(label = 'utf-8') {
      if (!/^utf-?8$/i.test(label)) throw new RangeError('TextDecoder knows utf-8 only');
    }
    get encoding() {
      return 'utf-8';
    }
    decode(bytes = new Uint8Array()) {
      const b = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, bytes.byteLength);
      let out = '';
      for (let i = 0; i < b.length; ) {
        const c = b[i];
        const n = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : -1;
        // The first of the bytes that follow has a narrower range after some: that refuses surrogates and what is too long.
        let low = c === 0xe0 ? 0xa0 : c === 0xf0 ? 0x90 : 0x80;
        let high = c === 0xed ? 0x9f : c === 0xf4 ? 0x8f : 0xbf;
        let p = n === 0 ? c : c & (0x3f >> n);
        let k = 1;
        while (k <= n && b[i + k] >= low && b[i + k] <= high) {
          p = (p << 6) | (b[i + k++] & 63);
          low = 0x80;
          high = 0xbf;
        }
        out += k === n + 1 ? String.fromCodePoint(p) : '\ufffd';
        i += k;
      }
      return out.startsWith('\ufeff') ? out.slice(1) : out;
    }
  };
})();
