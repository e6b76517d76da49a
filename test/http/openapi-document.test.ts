/** The OpenAPI document, read by a linter that others wrote. It is installed when asked for, by `npm run prove`: it brings 29 MB along. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { createOpenApi } from '../../src/http/openapi.ts';
import { operationRoutes } from '../../src/http/routes.ts';
import { installOnDemand } from '../support/on-demand.ts';
import { isProving } from '../support/scale.ts';

interface Fault {
  readonly severity: string;
  readonly ruleId: string;
  readonly message: string;
  readonly location: readonly { readonly pointer?: string }[];
}

interface Linter {
  createConfig(config: { readonly extends: readonly string[] }): Promise<unknown>;
  lintFromString(of: {
    readonly source: string;
    readonly absoluteRef: string;
    readonly config: unknown;
  }): Promise<readonly Fault[]>;
}

test.skipIf(!isProving)(
  'the OpenAPI document is linted without an error or a warning (the linter comes from npm: npm run prove)',
  async () => {
    const folder = installOnDemand({ '@redocly/openapi-core': '2.64.0' });
    const place = createRequire(join(folder, 'package.json')).resolve('@redocly/openapi-core');
    const linter = (await import(pathToFileURL(place).href)) as Linter;
    const config = await linter.createConfig({ extends: ['recommended-strict'] });
    const lint = async (document: object): Promise<readonly string[]> => {
      const source = JSON.stringify(document);
      const faults = await linter.lintFromString({ source, absoluteRef: '/openapi.json', config });
      return faults.map(({ severity, ruleId, message, location }) =>
        [severity, ruleId, message, location[0]?.pointer].join(' '),
      );
    };
    const document = createOpenApi('/v1', '1.0.0', operationRoutes);
    expect(await lint(document)).toEqual([]);
    // It finds what is wrong.
    expect((await lint({ ...document, security: [{ unknown: [] }] })).length).toBeGreaterThan(0);
  },
);
