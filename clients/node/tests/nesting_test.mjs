// A task that asks for what it holds itself, holds that the program drops, and second releases.

import assert from "node:assert/strict";
import test from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import vm from "node:vm";

import { createLock, Deadlock, LostHold } from "../build/index.mjs";
import { shown } from "../build/texts.js";
import { testEach, until } from "./support.mjs";

setFlagsFromString("--expose-gc");
const collect = vm.runInNewContext("gc");

const KINDS = [{}, { shared: true }, { limit: 1 }, { limit: 2 }];
const reentrant = true;
// A collection takes long on a machine that does much else.
const COLLECT_MS_MAX = 50_000;

testEach("a wait of a task for itself is refused at once", async (own) => {
  const lock = createLock(await own.client());
  for (const [number, outer] of KINDS.entries()) {
    for (const inner of KINDS) {
      const key = `k:${number}`;
      const mayBoth = outer === inner && (outer.shared === true || outer.limit === 2);
      await lock.using(key, outer, async (hold) => {
        const second = await lock.try(key, inner);
        assert.equal(second !== null, mayBoth, JSON.stringify([outer, inner]));
        await second?.release();
        for (const wait of mayBoth ? [] : [Infinity, 60_000]) {
          await assert.rejects(lock(["other", key], { ...inner, wait }), (error) =>
            error instanceof Deadlock && error.message.startsWith(
              `${key} is held by this task already, as ${hold.owner}: the wait would never end`));
        }
      });
    }
  }
  await own.assertNothingLeft("other", "k:0", "k:1", "k:2", "k:3");
});

testEach("it is refused however deep, and over timers and promises", async (own) => {
  const lock = createLock(await own.client());
  await lock.using("k", () => lock.using("other", async () => {
    await sleep(1);
    await Promise.all([1, 2].map(() => assert.rejects(lock.using("k", () => {}), Deadlock)));
  }));
  await own.assertNothingLeft("k", "other");
});

testEach("semaphores count", async (own) => {
  const lock = createLock(await own.client());
  const options = { limit: 2, wait: 20_000 };
  await lock.using("k", options, async () => {
    await Promise.all([1, 2].map(() => lock.using("k", options, () => sleep(10))));
    await lock.using("k", options, () => assert.rejects(lock("k", options), Deadlock));
  });
  await own.assertNothingLeft("k");
});

testEach("what may be granted is asked for", async (own) => {
  const [lock, elsewhere] = [createLock(await own.client()), createLock(await own.client())];
  let later;
  await lock.using("k", async (hold) => {
    await lock.using("other", () => {});
    const named = lock("k", { owner: "next" }); // something else may release the hold
    await until(() => own.isWaiting("k", "next"));
    assert.equal(await hold.release(), true);
    await (await named).release();
    await lock.using("k", () => {}); // it is not held any more
    later = sleep(20).then(() => lock("k"));
  });
  await (await later).release(); // its task has outlived the hold
  await lock.using("k", async (hold) => {
    await own.ask("BREAK", "k");
    await until(() => hold.signal.aborted);
    await (await lock("k")).release();
  }).catch((error) => assert.ok(error instanceof LostHold, error));
  const outside = lock("k");
  await Promise.all([outside.then((hold) => hold.release()), elsewhere.using("k", () => {})]);
  await own.assertNothingLeft("k", "other");
});

testEach("reentrant locks share one hold until the last release", async (own) => {
  const lock = createLock(await own.client());
  await lock.using("k", async (outer) => {
    const before = await own.commands("lock");
    const inner = await lock.try("k", { reentrant });
    await lock.using("k", { reentrant }, async (third) => {
      assert.deepEqual([third.token, third.owner, inner.token],
        [outer.token, outer.owner, outer.token]);
      assert.equal(third.signal, outer.signal);
    });
    assert.equal(await own.commands("lock"), before);
    assert.deepEqual([await inner.release(), await inner.release()], [true, false]);
    assert.throws(() => inner.check(), /^LostHold: k was released/);
    await inner[Symbol.asyncDispose]();
    outer.check();
    assert.equal(await own.ask("LOCKED", "k", outer.owner), 1);
    const last = await lock("k", { reentrant });
    assert.equal(await outer.release(), true);
    assert.throws(() => outer.token, LostHold);
    last.check();
    assert.deepEqual([await last.release(), await outer.release()], [true, false]);
  });
  await own.assertNothingLeft("k");
});

testEach("only the same keys in the same way are shared", async (own) => {
  const [client, other] = [await own.client(), await own.client()];
  const lock = createLock(client);
  for (const [outer, inner] of [["k", ["k", "j"]], [["k", "j"], "k"]]) {
    await lock.using(outer, () => assert.rejects(lock(inner, { reentrant }), Deadlock));
  }
  await lock.using(["k", "j"], (hold) => lock.using(["j", "k"], { reentrant },
    (inner) => assert.equal(inner.token, hold.token)));
  for (const mode of [{ shared: true }, { limit: 2 }]) {
    await lock.using("k", mode, async (hold) => {
      await lock.using("k", { ...mode, reentrant }, (it) => assert.equal(it.token, hold.token));
      await assert.rejects(lock("k", { reentrant }), Deadlock);
    });
  }
  await lock.using("k", { owner: "me" }, async (hold) => {
    assert.equal(await lock.try("k", { owner: "you", reentrant }), null);
    assert.equal(await createLock(other).try("k", { reentrant }), null);
    const inner = await lock("k", { owner: Buffer.from("me"), reentrant });
    assert.deepEqual([await inner.release(), await own.ask("LOCKED", "k", "me")], [true, 1]);
    const heirs = await (await lock("k", { reentrant })).transfer("heir");
    assert.ok(heirs > 0);
    assert.throws(() => hold.check(), LostHold);
  });
  assert.equal(await own.ask("LOCKED", "k", "heir"), 1);
});

testEach("a second release says that nothing was held", async (own) => {
  const lock = createLock(await own.client());
  const hold = await lock("k");
  const before = await own.commands("unlock");
  assert.deepEqual([await hold.release(), await hold.release()], [true, false]);
  assert.equal(await own.commands("unlock"), before + 1);
  await hold[Symbol.asyncDispose]();
  const next = await lock("k");
  assert.deepEqual(await Promise.all([next.release(), next.release()]), [true, false]);
  await own.assertNothingLeft("k");
});

/** The warnings of this process about a key. */
function warningsOf(key) {
  const heard = [];
  process.on("warning", ({ name, message }) => {
    if (message.includes(`a hold of ${key} `)) heard.push(`${name}: ${message}`);
  });
  return heard;
}

async function untilFree(own, key) {
  await until(async () => {
    collect();
    await sleep(100);
    return (await own.ask("LOCKED", key)) === 0;
  }, COLLECT_MS_MAX);
}

testEach("a hold that is dropped ends with its lease", async (own) => {
  const key = `dropped:${own.server.port}`;
  const heard = warningsOf(key);
  const lock = createLock(await own.client());
  const drop = async (options) => {
    const hold = await lock(key, { lease: 600, ...options });
    assert.equal(hold.signal.aborted, false);
  };
  for (const options of [{}, { onLost: () => {} }]) {
    await drop(options);
    await untilFree(own, key);
    assert.deepEqual(heard.splice(0), [`FairlockWarning: a hold of ${key} was dropped without a ` +
      "release: it ends with its lease"]);
  }
});

testEach("a hold or a signal that is kept is renewed", async (own) => {
  const lock = createLock(await own.client());
  const keys = ["held", "watched", "inner"].map((name) => `${name}:${own.server.port}`);
  const [held, watched, key] = keys;
  const heard = keys.map(warningsOf);
  const hold = await lock(held, { lease: 12_000 });
  const { signal } = await lock(watched, { lease: 12_000 });
  const inner = await (async () => {
    let kept;
    await lock(key, { lease: 600 }); // another, which is dropped
    await untilFree(own, key);
    await lock.using(key, { lease: 12_000 }, async (outer) => {
      kept = await lock(key, { reentrant });
      assert.equal(await outer.release(), true);
    });
    return kept;
  })();
  const before = await own.commands("renew");
  await until(async () => {
    collect();
    await sleep(100);
    return await own.commands("renew") >= before + 3;
  }, COLLECT_MS_MAX);
  hold.check();
  inner.check();
  assert.equal(signal.aborted, false);
  assert.deepEqual([await own.ask("LOCKED", watched), await inner.release()], [1, true]);
  assert.equal(await hold.release(), true);
  assert.deepEqual([heard.map((some) => some.length), signal.aborted], [[0, 0, 1], false]);
});

testEach("onLost and the signal still tell of a loss", async (own) => {
  const lock = createLock(await own.client());
  const told = [];
  const hold = await lock("k", { onLost: (it) => told.push(it) });
  hold.signal.addEventListener("abort", () => told.push(hold.signal.reason));
  await own.ask("BREAK", "k");
  await until(() => told.length === 2);
  assert.equal(told[0], hold);
  assert.ok(told[1] instanceof LostHold);
  const late = await lock("k", { lease: 50, renew: false });
  await until(() => {
    try {
      return late.check();
    } catch {
      return true;
    }
  });
  assert.equal(late.signal.aborted, true);
});

testEach("every error names its key, and can be printed", async (own) => {
  const lock = createLock(await own.client());
  await own.ask("LOCK", "order:42", Buffer.from([0, 2, 0xec, 0xff]));
  const owner = { owner: "me", wait: 20_000 };
  const waiting = lock("order:42", owner);
  await until(() => own.isWaiting("order:42", "me"));
  await Promise.all([own.ask("CANCEL", "order:42", "me"),
    assert.rejects(waiting, /^WaitEnded: order:42: /)]);
  await assert.rejects(lock("order:42", { wait: 50 }), ({ message, explanation }) => {
    assert.match(message, /^order:42 not granted in \d+ ms: held by \\x00\\x02/);
    for (const text of [message, String(explanation)]) {
      assert.doesNotMatch(text, /[^ \P{C}]/u);
      JSON.stringify(text);
    }
    return true;
  });
  await own.ask("LOCK", "a\nb", "other");
  await assert.rejects(lock("a\nb", { wait: 0 }),
    { message: /^a\\x0ab not granted: held by other/ });
});

test("texts escape what is not printable", () => {
  for (const [name, text] of [["order:42", "order:42"], ["a b", "a b"], ["\u001b[2J", "\\x1b[2J"],
    ["\u2028", "\\u{2028}"], ["\ud800", "\\u{d800}"], ["äö", "äö"], [Buffer.from("äö"), "äö"],
    [Buffer.from([0xff, 0xfe, 0x61]), "\\xff\\xfea"], [Buffer.from("\ufffd"), "\ufffd"],
    [Buffer.from([0xe4, 0xc3, 0xa4, 0xf0, 0x9f]), "\\xe4ä\\xf0\\x9f"]]) {
    assert.equal(shown(name), text);
  }
});
