// The kept Node interpreter of a context: cells come in on descriptor 3, answers go out on 4.
//
// The protocol is in DESIGN.md, section 5. A cell is evaluated by V8's own REPL mode (what the
// console of Chrome does), reached through an in-process inspector session that opens no port:
// let, const and class persist and may be declared again, await works at the top level.
//
// Interrupts: node's watchdog for SIGINT stays armed from start to end, so that there is no
// moment at which a SIGINT kills the process; a cell runs inside vm.Script with breakOnSigint,
// which stops endless loops; a cell that awaits is left by polling the same watchdog. What
// cannot be interrupted is an endless loop after an await. The event loop goes on between
// cells. process.exit(n) ends the cell, not the interpreter. Node 18 and later.
'use strict';

const fs = require('fs');
const inspector = require('inspector');
const Module = require('module');
const net = require('net');
const path = require('path');
const util = require('util');
const vm = require('vm');
const { pathToFileURL } = require('url');

const VERSION = 1;
const COMMANDS = 3;
const ANSWERS = 4;
const TEXT_MAX = 64 << 10;
const SOURCES_MAX = 1000;
const LOGS_MAX = 20;
const POLL_MS = 5;
const CELL_URL = 'sbx:cell/';

const { stdout, stderr } = process;
const reallyExit = process.reallyExit.bind(process);
const setTimer = setInterval;
const clearTimer = clearInterval;
const EXIT = Symbol('exit');
const INTERRUPTED = Symbol('interrupted');

const state = {
    nCells: 0,
    sources: new Map(),
    exitCode: null,     // of a process.exit() in the cell that runs
    active: false,
    wake: null,         // ends the wait of a cell
    nLogs: 0,
    answer: [],
    listeners: [],      // of the user's, for SIGINT, while a cell runs
    cwd: null,          // of globalThis.require
};

// ---- Answers -----------------------------------------------------------------------------------

function clip(text, max = TEXT_MAX) {
    const data = Buffer.from(String(text), 'utf8');
    if (data.length <= max) return data;
    let end = max;
    while ((data[end] & 0xc0) === 0x80) end--;
    return Buffer.concat([data.subarray(0, end),
        Buffer.from(`\n[... ${data.length - end} more bytes]`)]);
}

function say(verb, text) {
    const body = clip(text);
    state.answer.push(Buffer.from(`${verb} ${body.length}\n`), body);
}

function sendAnswer() {
    let data = Buffer.concat(state.answer);
    state.answer = [];
    while (data.length > 0) {
        try {
            data = data.subarray(fs.writeSync(ANSWERS, data));
        } catch (error) {
            if (error.code !== 'EAGAIN') reallyExit(70);
        }
    }
}

// Between cells too: then it goes out at once and belongs to none. Bounded until the next cell.
function log(level, text) {
    if (++state.nLogs > LOGS_MAX) return;
    say(`log ${level}`, state.nLogs === LOGS_MAX ? 'more messages follow; they are dropped'
        : clip(text, 4096).toString());
    if (!state.active) sendAnswer();
}

// ---- Interrupts --------------------------------------------------------------------------------

function findWatchdog() {
    try {
        const binding = process.binding('contextify');
        if (binding.startSigintWatchdog && binding.stopSigintWatchdog) return binding;
    } catch {
        // A node without it: the listener below takes its place, with a gap of microseconds.
    }
    return null;
}

const watchdog = findWatchdog();
let listened = false;

function armWatchdog() {
    if (watchdog === null) {
        if (process.listenerCount('SIGINT') === 0) process.on('SIGINT', () => { listened = true; });
    } else {
        watchdog.startSigintWatchdog();
    }
}

// Did a SIGINT come since the last question? The watchdog is counted: up and down forgets.
function takeInterrupt() {
    if (watchdog === null) {
        const was = listened;
        listened = false;
        return was;
    }
    watchdog.startSigintWatchdog();
    return watchdog.stopSigintWatchdog();
}

const JOB = Symbol('sbx');
const jobScript = new vm.Script(`globalThis[Symbol.for('sbx.job')]()`, { filename: 'sbx:job' });

Object.defineProperty(globalThis, Symbol.for('sbx.job'), { value: () => state[JOB]() });

// Calls a function that may run the user's code; throws INTERRUPTED after a SIGINT.
function interruptible(job) {
    state[JOB] = job;
    try {
        return jobScript.runInThisContext({ breakOnSigint: true, displayErrors: false });
    } catch (error) {
        throw error && error.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED' ? INTERRUPTED : error;
    }
}

// Waits for a promise of the driver's, a SIGINT or process.exit().
async function waitFor(promise) {
    let timer;
    try {
        return await new Promise((resolve, reject) => {
            timer = setTimer(() => { if (takeInterrupt()) reject(INTERRUPTED); }, POLL_MS);
            state.wake = reject;
            promise.then(resolve, reject);
        });
    } finally {
        clearTimer(timer);
        state.wake = null;
    }
}

// ---- Evaluation --------------------------------------------------------------------------------

const session = new inspector.Session();
let sinkId = null;
let sunk;

// The actual value behind an object of the inspector's.
function unwrap(remote) {
    if (remote.objectId === undefined) {
        if (remote.subtype === 'null') return null;
        if (remote.unserializableValue === undefined) return remote.value;
        const text = remote.unserializableValue;
        return remote.type === 'bigint' ? BigInt(text.slice(0, -1)) : Number(text);
    }
    session.post('Runtime.callFunctionOn', {
        objectId: sinkId, functionDeclaration: 'function (value) { this(value); }',
        arguments: [{ objectId: remote.objectId }], silent: true,
    });
    session.post('Runtime.releaseObject', { objectId: remote.objectId });
    const value = sunk;
    sunk = undefined;
    return value;
}

function openSession() {
    session.connect();
    globalThis.sbxSink = (value) => { sunk = value; };
    session.post('Runtime.evaluate', { expression: 'sbxSink' }, (_, answer) => {
        sinkId = answer.result.objectId;
    });
    delete globalThis.sbxSink;
}

let acorn;

// Node carries acorn for its own REPL.
function loadAcorn() {
    if (acorn === undefined) {
        acorn = null;
        try {
            const text = process.binding('natives')['internal/deps/acorn/acorn/dist/acorn'];
            const module = { exports: {} };
            vm.compileFunction(text, ['exports', 'module'], { filename: 'sbx:acorn' })(
                module.exports, module);
            acorn = module.exports;
        } catch (error) {
            log('warning', `import() is not available in this node: ${error.message}`);
        }
    }
    return acorn;
}

// REPL mode knows no import(): each becomes a call of a function that does the same.
function replaceImports(source) {
    if (!/\bimport\b/.test(source) || !loadAcorn()) return source;
    const places = [];
    class Parser extends acorn.Parser {
        parseExprImport(...rest) {
            const node = super.parseExprImport(...rest);
            if (node.type === 'ImportExpression') places.push(node.start);
            return node;
        }
    }
    try {
        Parser.parse(source, { ecmaVersion: 'latest', sourceType: 'script', allowHashBang: true,
            allowAwaitOutsideFunction: true });
    } catch {
        return source; // V8 will say what is wrong with it
    }
    for (const start of places.sort((a, b) => b - a)) {
        source = `${source.slice(0, start)}globalThis[Symbol.for('sbx.import')]` +
            source.slice(start + 'import'.length);
    }
    return source;
}

// As import() in a file of the working directory: node's own way where it has one.
const hereScript = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER === undefined ? null
    : new vm.Script('(name, options) => import(name, options)', { filename: '<import>',
        importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER });

async function importHere(name, options) {
    if (hereScript !== null) return hereScript.runInThisContext()(name, options);
    if (/^\.{0,2}\//.test(name)) return import(pathToFileURL(path.resolve(name)).href, options);
    try {
        return await import(name, options); // builtins, URLs
    } catch (error) {
        if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    }
    return import(pathToFileURL(createRequire().resolve(name)).href, options);
}

Object.defineProperty(globalThis, Symbol.for('sbx.import'), { value: importHere });

function createRequire() {
    return Module.createRequire(path.join(process.cwd(), 'cell'));
}

// As in node's REPL: { a: 1 } alone is an object, not a block.
function wrapObject(source) {
    if (!/^\s*\{/.test(source) || /;\s*$/.test(source)) return source;
    try {
        new vm.Script(`(async () => (${source}\n))`);
        return `(${source}\n)`;
    } catch {
        return source;
    }
}

// Returns: a promise of what Runtime.evaluate answers. The synchronous part has run by then.
function evaluate(source, url) {
    const expression = `${wrapObject(replaceImports(source))}\n//# sourceURL=${url}`;
    let answer;
    const promise = new Promise((resolve) => { answer = resolve; });
    interruptible(() => session.post('Runtime.evaluate', { expression, replMode: true },
        (error, message) => answer(error ? { failure: error } : message)));
    return promise;
}

async function runSource(source, url) {
    const message = await waitFor(evaluate(source, url));
    if (message.failure) throw new Error(message.failure.message);
    const details = message.exceptionDetails;
    if (details === undefined) return unwrap(message.result);
    const error = unwrap(details.exception);
    if (error !== EXIT && util.types.isNativeError(error) && error.name === 'SyntaxError' &&
        !String(error.stack).includes(CELL_URL)) {
        throw { [EXIT]: false, error, line: details.lineNumber, column: details.columnNumber };
    }
    throw { [EXIT]: false, error };
}

// ---- Errors ------------------------------------------------------------------------------------

function describe(thrown) {
    if (thrown === INTERRUPTED) {
        say('error_name', 'Interrupted');
        say('error_value', 'the cell was interrupted');
        say('traceback', 'Interrupted: the cell was interrupted\n');
        return ['interrupted', 130];
    }
    const wrapped = thrown !== null && typeof thrown === 'object' && EXIT in thrown;
    const error = wrapped ? thrown.error : thrown;
    let name = 'Uncaught';
    let value;
    let text;
    try {
        interruptible(() => {
            const isError = util.types.isNativeError(error) || error instanceof Error;
            if (isError) name = String(error.name);
            value = isError ? String(error.message) : util.inspect(error);
            text = isError ? formatError(error, wrapped ? thrown : {}) : `Uncaught ${value}`;
        });
    } catch {
        value = value ?? 'an error that cannot be shown';
    }
    say('error_name', name);
    say('error_value', value);
    say('traceback', `${text ?? `${name}: ${value}`}\n`);
    return ['error', 1];
}

// The stack without the frames of this file, the line of the cell above it, as node shows it.
function formatError(error, place) {
    const lines = util.inspect(error).split('\n');
    let last = -1;
    lines.forEach((line, i) => { if (line.includes(CELL_URL)) last = i; });
    const own = (line) => /^\s+at /.test(line) &&
        (/node:inspector|sbx:job/.test(line) || line.includes(__filename));
    let kept = lines;
    const first = lines.findIndex(own);
    if (first >= 0) {
        const end = lines.findIndex((line, i) => i > first && !/^\s+at /.test(line));
        kept = lines.slice(0, Math.max(first, last + 1)).concat(
            end < 0 || end <= last ? [] : lines.slice(end));
    }
    const text = kept.filter((line) => !own(line)).join('\n');
    const named = text.replace(/sbx:cell\/(\d+)/g, '<cell $1>');
    return showPlace(findPlace(text, place)) + named;
}

function findPlace(text, place) {
    if (place.line !== undefined) return { cell: state.nCells, ...place };
    const found = /sbx:cell\/(\d+):(\d+):(\d+)/.exec(text);
    return found && { cell: +found[1], line: found[2] - 1, column: found[3] - 1 };
}

function showPlace(place) {
    const lines = place && state.sources.get(place.cell)?.split('\n');
    if (!lines) return '';
    const row = Math.min(place.line, lines.length - 1);
    const column = row < place.line ? lines[row].length : place.column;
    const from = Math.max(0, column - 200);
    const shown = lines[row].slice(from, from + 400);
    const blank = shown.slice(0, column - from).replace(/[^\t]/g, ' ');
    return `<cell ${place.cell}>:${row + 1}\n${shown}\n${blank}^\n\n`;
}

// ---- One cell ----------------------------------------------------------------------------------

function exit(code) {
    if (code === undefined) code = process.exitCode ?? 0;
    if (!state.active) {
        log('warning', `process.exit(${code}) after the end of its cell has no effect`);
        throw EXIT;
    }
    state.exitCode = Number(code) & 0xff;
    if (state.wake) state.wake(EXIT);
    throw EXIT;
}

function prepare() {
    for (const event of ['uncaughtException', 'unhandledRejection']) {
        if (!process.listeners(event).includes(onUncaught)) process.on(event, onUncaught);
    }
    process.exit = exit;
    process.reallyExit = exit;
    takeListeners();
    if (state.cwd !== process.cwd()) {
        state.cwd = process.cwd();
        globalThis.require = createRequire();
    }
    takeInterrupt();
}

// A listener of the user's takes the signal away from the watchdog; it gets it between cells only.
function takeListeners() {
    if (watchdog === null || process.listenerCount('SIGINT') === 0) return;
    state.listeners = process.rawListeners('SIGINT');
    process.removeAllListeners('SIGINT');
    watchdog.stopSigintWatchdog();
    watchdog.startSigintWatchdog();
}

function putListeners() {
    const listeners = state.listeners.splice(0);
    if (listeners.length === 0) return;
    for (const listener of listeners) process.on('SIGINT', listener);
}

function onUncaught(error) {
    if (error === EXIT) return;
    let text;
    try {
        text = util.types.isNativeError(error) ? formatError(error, {}) : util.inspect(error);
    } catch {
        text = 'an error that cannot be shown';
    }
    log('error', `uncaught: ${text}`);
}

function override(cwd, pairs) {
    const before = process.cwd();
    if (cwd) process.chdir(cwd);
    const inside = cwd ? process.cwd() : null;
    const saved = pairs.map(([key, value]) => [key, process.env[key], value]);
    for (const [key, value] of pairs) process.env[key] = value;
    return () => {
        for (const [key, old, value] of saved.reverse()) {
            if (process.env[key] !== value) continue;
            if (old === undefined) delete process.env[key];
            else process.env[key] = old;
        }
        try {
            if (inside !== null && process.cwd() === inside) process.chdir(before);
        } catch (error) {
            log('warning', `cannot go back to ${before}: ${error.message}`);
        }
    };
}

async function flush() {
    for (const stream of [stdout, stderr]) {
        if (stream.writableLength > 0 && !stream.destroyed) {
            await new Promise((resolve) => { stream.write('', resolve); });
        }
    }
}

function showValue(value) {
    if (value === undefined) return;
    const text = interruptible(() => util.inspect(value));
    Object.defineProperty(globalThis, '_', { value, writable: true, configurable: true });
    say('result text/plain', text);
}

async function evaluateCell(source, number) {
    try {
        const value = await runSource(source, `${CELL_URL}${number}`);
        if (state.exitCode === null) showValue(value);
    } catch (thrown) {
        if (state.exitCode === null) return describe(thrown);
    }
    const code = state.exitCode ?? process.exitCode;
    return code === undefined ? ['ok', 0] : ['exit', Number(code) & 0xff];
}

async function runCell({ source, cwd, pairs }) {
    state.nCells++;
    state.nLogs = 0;
    state.exitCode = null;
    state.sources.set(state.nCells, source);
    state.sources.delete(state.nCells - SOURCES_MAX);
    let restore;
    try {
        restore = override(cwd, pairs);
        prepare();
    } catch (error) {
        say('error_name', 'CwdError');
        say('error_value', `${cwd}: ${util.getSystemErrorMap().get(error.errno)?.[1] ?? error}`);
        return ['error', 126];
    }
    state.active = true;
    const outcome = await evaluateCell(source, state.nCells);
    await flush();
    process.exitCode = undefined;
    restore();
    putListeners();
    return outcome;
}

// ---- Commands ----------------------------------------------------------------------------------

function* parseCells() {
    let data = Buffer.alloc(0);
    const take = function* (nBytes) {
        const parts = [data];
        for (let n = data.length; n < nBytes;) {
            const chunk = yield null;
            parts.push(chunk);
            n += chunk.length;
        }
        data = parts.length > 1 ? Buffer.concat(parts) : data;
        const piece = data.subarray(0, nBytes);
        data = data.subarray(nBytes);
        return piece;
    };
    const until = function* (byte) {
        let end;
        while ((end = data.indexOf(byte)) < 0) data = Buffer.concat([data, yield null]);
        return (yield* take(end + 1)).subarray(0, end).toString();
    };
    for (;;) {
        const [verb, id, nCode, nCwd, nEnv] = (yield* until(10)).split(' ');
        if (verb !== 'cell') reallyExit(70);
        const source = (yield* take(Number(nCode) + 1)).subarray(0, -1).toString();
        const cwd = (yield* take(Number(nCwd) + 1)).subarray(0, -1).toString();
        const pairs = [];
        for (let i = 0; i < Number(nEnv); i++) {
            const pair = yield* until(0);
            const at = pair.indexOf('=');
            pairs.push([pair.slice(0, at), pair.slice(at + 1)]);
        }
        yield { id, source, cwd, pairs };
    }
}

function serve() {
    const parser = parseCells();
    const queue = [];
    let busy = false;
    const next = async () => {
        if (busy || queue.length === 0) return;
        busy = true;
        const cell = queue.shift();
        const [status, code] = await runCell(cell);
        state.answer.push(Buffer.from(`done ${cell.id} ${status} ${code} 0\n`));
        state.active = false;
        sendAnswer();
        busy = false;
        next();
    };
    const socket = new net.Socket({ fd: COMMANDS, readable: true, writable: false });
    socket.on('data', (chunk) => {
        let cell = parser.next(chunk).value;
        for (; cell; cell = parser.next(Buffer.alloc(0)).value) queue.push(cell);
        next();
    });
    parser.next();
    socket.on('end', () => reallyExit(0));
    socket.on('error', () => reallyExit(70));
}

function setUp() {
    openSession();
    armWatchdog();
    process.argv = [process.execPath];
    process.exit = exit;
    globalThis.module = new Module('cell');
    globalThis.exports = globalThis.module.exports;
    for (const name of Module.builtinModules) { // as in the REPL: fs, path, … without require
        if (name.startsWith('_') || name.includes('/') || name in globalThis) continue;
        Object.defineProperty(globalThis, name, {
            configurable: true,
            get: () => require(name),
            set: (value) => Object.defineProperty(globalThis, name,
                { value, writable: true, configurable: true, enumerable: true }),
        });
    }
}

setUp();
say(`ready ${VERSION}`, '');
sendAnswer();
serve();
