// ioredis and node-redis over TLS, with client certificates.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import {after, test} from 'node:test';

import Redis from 'ioredis';
import {createClient} from 'redis';

const port = Number(process.env.FAIRLOCK_TLS_PORT);
const trusted = {
  ca: fs.readFileSync(process.env.FAIRLOCK_TLS_CA),
  servername: 'localhost',
};
const identity = {
  cert: fs.readFileSync(process.env.FAIRLOCK_TLS_CERT),
  key: fs.readFileSync(process.env.FAIRLOCK_TLS_KEY),
};

test('ioredis takes locks, in a pipeline too, and waits', async () => {
  const open = () => new Redis({host: 'localhost', port, tls: {...trusted, ...identity}});
  const one = open();
  const other = open();
  after(() => [one, other].forEach((client) => client.disconnect()));
  const token = await one.call('LOCK', 'js', 'one', 'PX', 30000);
  assert.equal(typeof token, 'number');
  const next = other.call('LOCK', 'js', 'other', 'PX', 30000, 'WAIT', 10000);
  assert.equal(await one.call('UNLOCK', 'js', 'one'), 1);
  assert.ok(await next > token);
  const pipeline = one.pipeline();
  for (let n = 0; n < 2000; ++n) pipeline.call('LOCK', `js:${n}`, 'one', 'PX', 30000);
  const answers = await pipeline.exec();
  assert.ok(answers.every(([error, answer]) => error === null && answer > token));
});

test('ioredis without a certificate is not let in', async () => {
  const client = new Redis({host: 'localhost', port, tls: trusted, retryStrategy: null,
    maxRetriesPerRequest: 0});
  client.on('error', () => {});
  await assert.rejects(client.ping());
  client.disconnect();
});

test('node-redis subscribes and publishes', async () => {
  const socket = {host: 'localhost', port, tls: true, ...trusted, ...identity};
  const client = await createClient({socket}).connect();
  const listener = await createClient({socket}).connect();
  after(() => [client, listener].forEach((one) => one.destroy()));
  const heard = new Promise((resolve) => { listener.subscribe('news', resolve); });
  while (await client.publish('news', 'hello') === 0);
  assert.equal(await heard, 'hello');
});
