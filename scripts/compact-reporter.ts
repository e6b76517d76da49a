/** A vitest reporter: a line per file, the reasons of the skips, the failures, and the counts as the very last line. */
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, SerializedError, TestCase, TestModule, TestSuite, Vitest } from 'vitest/node';

type Place = TestCase | TestModule | TestSuite;
type Failure = { readonly title: string; readonly errors: readonly SerializedError[] };

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function sum<Item>(items: readonly Item[], valueOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + valueOf(item), 0);
}

/** Where an error comes from in our own files, as `file:line:column`; without parsed frames, the raw ones. */
function placeOf({ stack, stacks = [] }: SerializedError, root: string): string | undefined {
  const frame = stacks.find(({ file }) => !file.includes('node_modules')) ?? stacks[0];
  if (frame !== undefined) return `at ${relative(root, frame.file)}:${frame.line}:${frame.column}`;
  const rawFrame = stack?.split('\n').find((line) => line.includes(root) && !line.includes('node_modules'));
  return rawFrame?.trim().replace(`${root}/`, '');
}

function renderError(error: SerializedError, root: string): string {
  const name = error.name && error.name !== 'Error' ? `${error.name}: ` : '';
  const parts = [
    `${name}${error.message}`,
    typeof error.diff === 'string' ? stripVTControlCharacters(error.diff) : undefined,
    placeOf(error, root),
    error.cause ? `caused by ${renderError(error.cause, root)}` : undefined,
  ];
  return parts.filter((part) => part !== undefined).join('\n');
}

export class CompactReporter implements Reporter {
  #root = process.cwd();
  #isFilteredByName = false;

  onInit(vitest: Vitest): void {
    this.#root = vitest.config.root;
    this.#isFilteredByName = vitest.config.testNamePattern !== undefined;
  }

  onUserConsoleLog(log: { readonly content: string }): void {
    print(log.content.trimEnd());
  }

  onTestModuleEnd(module: TestModule): void {
    const tests = [...module.children.allTests()];
    const ran = tests.filter((test) => test.result().state !== 'skipped').length;
    if (this.#isFilteredByName && ran === 0) return;
    const mark = module.state() === 'failed' ? 'FAILED' : 'ok';
    const tried = tests.flatMap((test) => test.meta().sampled ?? []);
    const sampled =
      tried.length === 0 ? '' : `  ${sum(tried, ({ taken }) => taken)} of ${sum(tried, ({ all }) => all)} cases`;
    const durationMs = Math.round(module.diagnostic().duration);
    print(`${mark.padEnd(6)} ${module.relativeModuleId}  ${ran} tests  ${durationMs} ms${sampled}`);
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const failures: Failure[] = [
      ...modules.flatMap((module) => this.#failuresOutsideTests(module)),
      ...tests.flatMap((test) => {
        const result = test.result();
        return result.state === 'failed' ? [{ title: this.#titleOf(test), errors: result.errors }] : [];
      }),
      ...unhandledErrors.map((error) => ({ title: 'outside any test', errors: [error] })),
    ];
    const passed = tests.filter((test) => test.result().state === 'passed').length;
    // With a name pattern, vitest marks all that does not match as skipped; those were not requested.
    const skipped = this.#isFilteredByName ? [] : tests.filter((test) => test.result().state === 'skipped');

    for (const test of skipped) print(`skipped: ${this.#titleOf(test)}: ${reasonOf(test)}`);
    for (const { title, errors } of failures) {
      print(`\nfailed: ${title}`);
      for (const error of errors) print(renderError(error, this.#root).replace(/^/gm, '  '));
    }
    if (failures.length > 0) print('');
    print(`${passed} passed, ${failures.length} failed, ${skipped.length} skipped`);
  }

  /** Errors of loading a file and of hooks around a group: no test carries them, so each counts as one failed. */
  #failuresOutsideTests(module: TestModule): Failure[] {
    return [module, ...module.children.allSuites()].flatMap((place) => {
      const errors = place.errors();
      return errors.length > 0 ? [{ title: this.#titleOf(place), errors }] : [];
    });
  }

  #titleOf(place: Place): string {
    return place.type === 'module' ? place.relativeModuleId : `${place.module.relativeModuleId} > ${place.fullName}`;
  }
}

function reasonOf(test: TestCase): string {
  const result = test.result();
  const note = result.state === 'skipped' ? result.note : undefined;
  return note ?? (test.options.mode === 'todo' ? 'to do' : 'see its title (or use context.skip(reason))');
}
