// Generates src/gen/documents.ts from the JSON Schemas of the command's documents. The code of the contract comes from buf.
// place-watch is no question of `stowage serve`: the command prints it for each change of a cluster.
import { readdirSync, readFileSync, mkdirSync, writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";

const schemas = new URL("../../answer/schema/", import.meta.url);
const definitions = JSON.parse(readFileSync(new URL("definitions.json", schemas), "utf8"));
const verbs = readdirSync(schemas).filter((f) => f.endsWith(".json") && !["definitions.json", "place-watch.json"].includes(f)).map((f) => f.slice(0, -5));

// All documents are one schema, so that the types that they share are generated once.
const local = (text) => JSON.parse(text.replaceAll("definitions.json#/$defs/", "#/$defs/"));
const all = { ...local(JSON.stringify(definitions)), title: "Documents", type: "object", properties: {}, required: verbs, additionalProperties: false };
for (const verb of verbs) {
  const { $schema, $id, title, ...schema } = local(readFileSync(new URL(verb + ".json", schemas), "utf8"));
  all.properties[verb] = schema;
}
const text = await compile(all, "Documents", { additionalProperties: false, unreachableDefinitions: true, bannerComment: "// Generated from clients/answer/schema.", format: false });
mkdirSync(new URL("../src/gen/", import.meta.url), { recursive: true });
writeFileSync(new URL("../src/gen/documents.ts", import.meta.url), text);
