import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createClient, Objects, ObjectsError, PlacementService, SimulationService, Snapshot, StowageError } from "../src/index.js";

async function serving<T>(listener: RequestListener, use: (url: string) => Promise<T>): Promise<T> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const info = (reason: string) => ({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: "stowage-scheduler.github.io" });

test("a call is made again when the server says so, and not otherwise", async () => {
  const answers = [
    { status: 429, body: { code: 8, message: "later", details: [info("OVERLOADED"), { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "0.200s" }] } },
    { status: 200, body: { feasibleNodes: { indexes: [0, 2] } } },
    { status: 429, body: { code: 8, message: "never", details: [info("REQUEST_TOO_LARGE")] } },
  ];
  let calls = 0;
  await serving((_, w) => { const a = answers[calls++]!; w.writeHead(a.status, { "Content-Type": "application/json" }).end(JSON.stringify(a.body)); }, async (url) => {
    const client = createClient(PlacementService, { url });
    const began = Date.now();
    assert.deepEqual((await client.filter({})).feasibleNodes?.indexes, [0, 2]);
    assert.ok(Date.now() - began >= 195, "the pushback was not waited for");
    await assert.rejects(client.filter({}), (e: StowageError) => e.reason === "REQUEST_TOO_LARGE" && e.retryAfter === undefined);
    assert.equal(calls, 3);
  });
});

test("an error has the paths of fields", async () => {
  const body = { code: 3, message: "m", details: [info("INVALID_REQUEST"), { "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: [{ field: "pod", description: "is required", reason: "REQUIRED" }] }] };
  await serving((_, w) => w.writeHead(400).end(JSON.stringify(body)), async (url) => {
    await assert.rejects(createClient(PlacementService, { url }).filter({}), (e: StowageError) => {
      assert.deepEqual(e.fields, [{ field: "pod", description: "is required", reason: "REQUIRED" }]);
      return e.code === 3 && e.reason === "INVALID_REQUEST";
    });
  });
});

test("a stream has messages, and an error at its end", async () => {
  await serving((_, w) => {
    w.write('{"result":{"scenarioIndex":0}}\n{"resu');
    setTimeout(() => w.end('lt":{"scenarioIndex":1}}\n{"error":{"code":4,"message":"late"}}\n'), 20);
  }, async (url) => {
    const got: number[] = [];
    await assert.rejects(async () => {
      for await (const part of createClient(SimulationService, { url }).whatIf({})) got.push(part.scenarioIndex);
    }, (e: StowageError) => e.code === 4);
    assert.deepEqual(got, [0, 1]);
  });
});

test("a snapshot is put when the server does not have it, with its deltas", async () => {
  const have = new Set<string>(), seen: string[] = [];
  let puts = 0;
  await serving(async (r, w) => {
    let text = "";
    for await (const part of r) text += part;
    const lines = text.trim().split("\n").map((l) => JSON.parse(l));
    const unknown = () => w.writeHead(400).end(JSON.stringify({ code: 9, message: "unknown", details: [info("UNKNOWN_SNAPSHOT")] }));
    if (r.url!.endsWith("PutSnapshot")) {
      const base = lines[0].baseAddress as string | undefined;
      if (base && !have.has(base)) return unknown();
      puts++;
      const address = base ? base + "+" : "a";
      have.add(address);
      return w.end(JSON.stringify({ address }));
    }
    const { address } = lines[0].context.snapshot;
    seen.push(address);
    return have.has(address) ? w.end("{}") : unknown();
  }, async (url) => {
    const client = createClient(PlacementService, { url });
    const cluster = Snapshot.of(client, { nodes: [{ name: "n" }] });
    const changed = cluster.with({ removedNodes: ["n"] });
    const filter = (s: Snapshot) => s.ask((base) => client.filter({ context: { base } }));
    await filter(cluster);
    await filter(changed);
    assert.equal(puts, 2);
    have.clear(); // the server has started again
    await filter(changed);
    assert.equal(puts, 4);
    assert.deepEqual(seen, ["a", "a+", "a+", "a+"]);
  });
});

test("objects are sent as they are, and answers are typed", async () => {
  let asked = "";
  await serving(async (r, w) => {
    for await (const part of r) asked += part;
    if (r.url === "/v1/place?namespace=shop") return w.setHeader("Stowage-Exit-Status", "1").end('{"kind":"PlaceReport","verdict":"1 of 2 pods placed","pods":[]}');
    return w.writeHead(400).end('{"errors":[{"object":"body: Pod shop/web","field":"spec.x","detail":"unknown"}]}');
  }, async (url) => {
    const objects = new Objects({ url });
    const answer = await objects.ask("place", [{ kind: "Node" }], { namespace: "shop" });
    assert.equal(answer.document.verdict, "1 of 2 pods placed");
    assert.equal(answer.exitStatus, 1);
    assert.equal(asked, '{"apiVersion":"v1","kind":"List","items":[{"kind":"Node"}]}');
    await assert.rejects(objects.ask("explain", "x"), (e: ObjectsError) => e.problems[0]?.field === "spec.x" && e.status === 400);
  });
});

test("a date of a proxy is not waited for", async () => {
  let asked = 0;
  await serving((_, w) => { asked++; w.writeHead(429, { "Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT" }).end("<html>"); }, async (url) => {
    await assert.rejects(new Objects({ url }).ask("place", "x"), (e: ObjectsError) => e.status === 429 && e.retryAfter === undefined);
  });
  assert.equal(asked, 1);
});

test("a call has one deadline with all its attempts", async () => {
  const timeouts: number[] = [];
  const overloaded = (retryDelay: string) => ({ code: 8, message: "later", details: [info("OVERLOADED"), { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay }] });
  await serving((r, w) => {
    timeouts.push(parseInt(String(r.headers["grpc-timeout"])));
    if (r.url!.endsWith("Filter")) w.writeHead(429).end(JSON.stringify(overloaded(timeouts.length < 2 ? "0.050s" : "3600s"))); // others have no answer
    if (r.url!.endsWith("PlaceStream")) w.write('{"result":{}}\n');
  }, async (url) => {
    const client = createClient(PlacementService, { url });
    const took = async (call: Promise<unknown>, code: number) => {
      const began = performance.now();
      await assert.rejects(call, (e: StowageError) => e.code === code);
      return performance.now() - began;
    };
    // The third attempt would come after the deadline: its reason is the answer, and nobody waits for it.
    assert.ok(await took(client.filter({}, { timeoutMs: 60_000 }), 8) < 60_000);
    assert.ok(timeouts.length === 2 && timeouts[0]! <= 60_000 && timeouts[1]! <= timeouts[0]! - 40, String(timeouts));
    assert.ok(await took(client.score({}, { timeoutMs: 200 }), 4) < 2000);
    const parts: unknown[] = [];
    await took((async () => { for await (const part of client.placeStream({}, { timeoutMs: 1000 })) parts.push(part); })(), 4);
    assert.equal(parts.length, 1);
    const objects = new Objects({ url, timeoutMs: 200 });
    assert.ok(await took(objects.ask("place", "x"), 4) < 2000);
    const none = createClient(PlacementService, { url: "http://127.0.0.1:1", retries: { attempts: 1000 } });
    const began = performance.now();
    await assert.rejects(none.getServerInfo({}, { timeoutMs: 300 }));
    assert.ok(performance.now() - began < 3000);
  });
});

test("a call without a server is made again, and ends with its signal", async () => {
  const client = createClient(PlacementService, { url: "http://127.0.0.1:1", retries: { attempts: 1 } });
  await assert.rejects(client.getServerInfo({}), TypeError);
  const end = new AbortController();
  const call = createClient(PlacementService, { url: "http://127.0.0.1:1" }).getServerInfo({}, { signal: end.signal });
  setTimeout(() => end.abort(new Error("over")), 20);
  await assert.rejects(call, /over|abort/);
});
