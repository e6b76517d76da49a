/** Reports in the forms that other tools read: JUnit, and Markdown for the page of a pull request. */
import { printable } from '../../operations/format/terminal.ts';

const attribute = (text: string): string =>
  printable(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

/** A test of a report: it fails if there is a reason. */
interface ReportedTest {
  readonly group: string;
  readonly name: string;
  readonly failure?: string;
}

export function junitReport(name: string, tests: readonly ReportedTest[]): readonly string[] {
  const failures = tests.filter(({ failure }) => failure !== undefined).length;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="${attribute(name)}" tests="${tests.length}" failures="${failures}">`,
    ...tests.map((test) => {
      const open = `  <testcase classname="${attribute(test.group)}" name="${attribute(test.name)}"`;
      return test.failure === undefined
        ? `${open}/>`
        : `${open}><failure message="${attribute(test.failure)}"/></testcase>`;
    }),
    '</testsuite>',
  ];
}

/** A text in a cell of a table in Markdown. */
export const markdownCell = (text: string): string => printable(text).replaceAll('|', '\\|');
