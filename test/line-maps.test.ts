/** Source maps of the package: short, and stack traces still name the line. */
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join } from 'node:path';
import ts from 'typescript-5.9';
import { expect, test } from 'vitest';
import { keepLines } from '../scripts/build/line-maps.ts';

type Payload = ConstructorParameters<typeof SourceMap>[0];

test('P6 a map that keeps lines names the same file and line for every place, in less than half the room', () => {
  const file = join(import.meta.dirname, '../src/engine/engine.ts');
  const { outputText, sourceMapText = '' } = ts.transpileModule(readFileSync(file, 'utf8'), {
    fileName: 'engine.ts',
    // Several lines of the source come into one line of the output.
    compilerOptions: { target: 99, module: 99, sourceMap: true, removeComments: true, newLine: 1 },
  });
  const short = keepLines(sourceMapText, outputText);
  expect(short.length).toBeLessThan(sourceMapText.length / 2);
  const places = outputText
    .replace(/^\/\/.*$/gmu, '')
    .split('\n')
    .flatMap((text, line) => [...text.matchAll(/\w+/gu)].map(({ index }) => [line, index] as const));
  expect(places.length).toBeGreaterThan(500);
  const linesOf = (text: string): readonly unknown[] => {
    const map = new SourceMap(JSON.parse(text) as Payload);
    return places.map(([line, column]) => ({ originalLine: undefined, ...map.findEntry(line, column) }).originalLine);
  };
  expect(linesOf(short)).toEqual(linesOf(sourceMapText));
});

test('P6 a frame of a bundled package is not taken for a line of ours', () => {
  const sources = ['../src/own.ts', '../node_modules/third/party.js'];
  const map = new SourceMap(
    JSON.parse(
      keepLines(JSON.stringify({ version: 3, sources, names: [], mappings: 'AAAA;ACAA;AACA;ADAA' }), 'a\nb\nc\nd'),
    ) as Payload,
  );
  const sourceOf = (line: number): unknown =>
    Object.entries(map.findEntry(line, 3)).find(([key]) => key === 'originalSource')?.[1];
  expect([0, 1, 2, 3].map(sourceOf)).toEqual([sources[0], undefined, undefined, sources[0]]);
});
