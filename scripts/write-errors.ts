/** Writes docs/errors.md from the table of error codes: `node scripts/write-errors.ts`. */
import { writeFileSync } from 'node:fs';
import { errorTable, type ErrorRow } from '../src/error-table.ts';

const page = new URL('../docs/errors.md', import.meta.url);

const head = `# Errors

<!-- Written by scripts/write-errors.ts from src/error-table.ts: change it there. -->

Every error that leaves Cairn is a \`CairnError\` with a \`code\`, \`data\`, a \`hint\`, and its \`cause\` if it has one. Codes are API; messages are not. \`retry\` is \`later\` if the same call may succeed later, else \`no\`. HTTP status and exit code are what the doors give.

In a message \`{name}\` is a value of \`data\`; \`{ at |path}\` is left out where \`path\` is absent, and the text behind a second bar stands for it then.

`;

/** Text as the cell of a table. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

function entry([code, row]: readonly [string, ErrorRow]): string {
  const { http, exit, retry, message, hint } = row;
  return `| \`${code}\` | ${http} | ${exit} | ${retry} | \`${cell(message)}\` | ${cell(hint)} |`;
}

/** The page as it should stand. */
export function errorsPage(): string {
  const rows = Object.entries(errorTable).map(entry);
  const table = [
    '| code | HTTP | exit | retry | message | way out |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
  ];
  return `${head}<!-- prettier-ignore -->\n${table.join('\n')}\n`;
}

if (import.meta.main) writeFileSync(page, errorsPage());
