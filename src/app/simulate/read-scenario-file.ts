/** Reads scenarios from a YAML or JSON file. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { decodeText } from '../process/decode-text.ts';
import { readScenarios, type Scenario } from '../../dialects/dot/simulate/scenario.ts';
import { readDocument } from '../../dialects/yaml/file/read-document.ts';
import { CairnError } from '../../errors.ts';

/** @throws USAGE_INVALID the file cannot be read, or contains something that is not a scenario */
export function readScenarioFile(cwd: string, file: string): readonly Scenario[] {
  const { document, faults } = readDocument(textOf(cwd, file), file);
  const [first] = faults;
  if (document !== undefined && first?.severity !== 'error') return readScenarios(document.data, file);
  const reason = first === undefined ? `${file} holds no scenario` : `${first.place}: ${first.message}`;
  throw new CairnError('USAGE_INVALID', { reason, hint: first?.fix ?? 'Write `scenarios:` and a list of them.' });
}

function textOf(cwd: string, file: string): string {
  try {
    return decodeText(readFileSync(resolve(cwd, file)));
  } catch (error) {
    const reason = `cannot read ${file}: ${(error as Error).message}`;
    throw new CairnError('USAGE_INVALID', { reason, hint: 'Name another file.' }, { cause: error });
  }
}
