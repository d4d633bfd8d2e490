// An agent written with @grpc/grpc-js: `node node_client.mjs ADDRESS HOST COUNT PER_SECOND [CA CERTIFICATE KEY]`.
// It sends numbered records at a rate, waits until all are acknowledged, and prints what it noticed as JSON.
// NODE_PACKAGES is the folder with node_modules, PROTO the .proto file, LAYOUT {"digest": …, "body": base64}.
import {randomBytes} from "node:crypto";
import {readFileSync} from "node:fs";
import {createRequire} from "node:module";

const require = createRequire(`${process.env.NODE_PACKAGES}/`);
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");
const protobuf = createRequire(require.resolve("@grpc/proto-loader"))("protobufjs");

const [address, host, count, perSecond, ...files] = process.argv.slice(2);
const [ca, certificate, key] = files.map((file) => readFileSync(file));
const credentials = files.length ? grpc.credentials.createSsl(ca, key, certificate) : grpc.credentials.createInsecure();
const {Telemetry} = grpc.loadPackageDefinition(loader.loadSync(process.env.PROTO, {keepCase: true})).flyball.v1;
const Record = protobuf.loadSync(process.env.PROTO).lookupType("flyball.v1.Record");
const layout = JSON.parse(process.env.LAYOUT);

const epoch = randomBytes(16);
const nanoseconds = () => String(BigInt(Date.now()) * 1_000_000n);
const stream = new Telemetry(address, credentials).Connect();
const noticed = {welcomed: false, settled: 0, seconds: null, status: null};
let lastSent = 0;

function record(sequence) {
  const values = Buffer.alloc(16); // two columns
  values.writeBigInt64LE(BigInt(sequence));
  const fields = {sequence, timeNs: nanoseconds(), bootNs: nanoseconds(), layout: layout.digest, values};
  return Record.encode(Record.fromObject(fields)).finish();
}

function greet() {
  const current = {id: epoch, started_ns: nanoseconds(), boot_id: "boot-node", interval_ms: 1000};
  stream.write({hello: {host, agent_version: "0.1.0", protocol: Number(process.env.PROTOCOL), epochs: [{epoch: current}]}});
  stream.write({definition: {kind: "LAYOUT", digest: layout.digest, body: Buffer.from(layout.body, "base64")}});
}

function sendAtRate() {
  const started = Date.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = Math.min(count, Math.ceil(((Date.now() - started) / 1000) * perSecond));
    for (; sent < due; sent++) stream.write({sent_boot_ns: nanoseconds(), records: {epoch, records: [record(sent)]}});
    lastSent = Date.now();
    if (sent === Number(count)) clearInterval(timer);
  }, 5);
}

stream.on("data", (message) => {
  if (message.welcome) {
    noticed.welcomed = true;
    sendAtRate();
  }
  if (message.acknowledgement) noticed.settled = Number(message.acknowledgement.settled);
  if (noticed.settled >= count) {
    noticed.seconds ??= (Date.now() - lastSent) / 1000;
    stream.end();
  }
});
stream.on("error", (error) => {
  noticed.status = error.details || String(error);
  finish();
});
stream.on("close", finish);
setTimeout(finish, 30_000);
greet();

function finish() {
  console.log(JSON.stringify(noticed));
  process.exit(0);
}
