// node:http in a cluster: a process for each CPU, to which the first process hands the connections in turn.

import cluster from 'node:cluster';
import http from 'node:http';
import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const HELLO = 'Hello, world!';
const MAX_SLEEP = 60_000;
const MAX_FIBONACCI = 50;
const BACKLOG = 4096;
// After this time an idle connection is closed; the 5 s that Node.js sets are too few to keep 10,000 of them.
const IDLE = 75_000;

if (cluster.isPrimary) {
  lead();
} else {
  work();
}

function lead() {
  marker('startup');
  const workers = os.availableParallelism();
  let listening = 0;
  cluster.on('listening', () => {
    listening += 1;
    if (listening === workers) marker('ready');
  });
  process.on('SIGTERM', () => stop(0));
  // A worker that dies by itself is a failure of the whole.
  cluster.on('exit', () => stop(process.exitCode ?? 1));
  for (let i = 0; i < workers; i += 1) cluster.fork();
}

// Ends after the last worker.
function stop(code) {
  process.exitCode = code;
  const workers = Object.values(cluster.workers);
  for (const worker of workers) worker.process.kill('SIGTERM');
  if (workers.length === 0) process.exit();
}

function marker(name) {
  process.stdout.write(`@bakeoff ${name}\n`);
}

function work() {
  const options = { host: { type: 'string' }, port: { type: 'string' } };
  const { host, port } = parseArgs({ options }).values;
  http.createServer({ keepAliveTimeout: IDLE }, serve).listen({ host, port: Number(port), backlog: BACKLOG });
}

async function serve(request, response) {
  // A body is passed over.
  request.resume();
  if (request.method !== 'GET') {
    answer(response.setHeader('Allow', 'GET'), 405);
    return;
  }
  const [path] = request.url.split('?', 1);
  if (path === '/hello') {
    answer(response, 200, HELLO);
    return;
  }
  const [, endpoint, text] = /^\/(sleep|fibonacci)\/([^/]+)$/.exec(path) ?? [];
  const number = /^\d+$/.test(text) ? Number(text) : NaN;
  if (endpoint === undefined) {
    answer(response, 404);
  } else if (!(number <= (endpoint === 'sleep' ? MAX_SLEEP : MAX_FIBONACCI))) {
    answer(response, 400);
  } else if (endpoint === 'sleep') {
    await sleep(number);
    answer(response, 200);
  } else {
    answer(response, 200, String(fibonacci(number)));
  }
}

function answer(response, status, body = '') {
  response.statusCode = status;
  response.setHeader('Content-Length', body.length);
  if (body !== '') response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  response.end(body);
}

// By plain recursion: this is the work to be done. It holds up the event loop of its process.
function fibonacci(i) {
  return i < 2 ? i : fibonacci(i - 1) + fibonacci(i - 2);
}
