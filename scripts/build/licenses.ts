/** The licences of the packages that are bundled, as their authors ask. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const inPackage = /^(.*\/node_modules\/((?:@[^/]+\/)?[^/]+))\//;

/**
 * @param moduleIds - absolute paths of all bundled modules
 * @returns name, version and licence of each package among them
 * @throws Error a package has no file of its licence
 */
export function collectLicenses(moduleIds: readonly string[]): string {
  const folders = new Set(moduleIds.flatMap((id) => inPackage.exec(id)?.[1] ?? []));
  return [...folders]
    .toSorted()
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
        readonly name: string;
        readonly version: string;
        readonly license: string;
      };
      const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
      if (file === undefined) throw new Error(`${name} has no file of its licence`);
      return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}
