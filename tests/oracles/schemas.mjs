// stdin: [{name, schema}]; stdout: [{name, dialect, why}] of those that Ajv, as the TypeScript SDK sets it up, does not compile.
import Ajv from 'ajv';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { readFileSync } from 'node:fs';

const rows = JSON.parse(readFileSync(0, 'utf8'));
const bad = [];
for (const [dialect, Kind] of [['draft-07', Ajv], ['2020-12', Ajv2020]]) {
  const ajv = new Kind.default({ strict: true, strictRequired: true, allowUnionTypes: true, validateSchema: true, allErrors: true });
  addFormats.default(ajv);
  for (const { name, schema, good, wrong } of rows) {
    try {
      const validate = ajv.compile(schema);
      for (const value of good ?? []) if (!validate(value)) bad.push({ name, dialect, why: ajv.errorsText(validate.errors) });
      for (const value of wrong ?? []) if (validate(value)) bad.push({ name, dialect, why: `takes ${JSON.stringify(value)}` });
    } catch (error) {
      bad.push({ name, dialect, why: String(error.message) });
    }
  }
}
console.log(JSON.stringify(bad));
