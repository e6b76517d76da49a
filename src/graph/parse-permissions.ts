/** Grants as an option writes them: `shell,net=host,fs=/path,env=NAME,inline`. */
import { CairnError } from '../errors.ts';
import { nearest } from './nearest.ts';
import type { Permissions } from './permissions.ts';

/** What an option grants. */
export interface Grants {
  readonly permissions: Permissions;
  /** Whether workflows that are given as texts are run at all. */
  readonly inline: boolean;
}

const kinds = ['shell', 'net', 'fs', 'env', 'inline'] as const;

/**
 * Reads grants, separated by commas, each `shell`, `inline`, `net`, `net=HOST`, `fs`, `fs=/FOLDER`, `env` or `env=NAME`; without a
 * value all of the kind is granted. Several texts add up.
 * @throws CONFIG_INVALID with the grant that cannot be read
 */
export function parsePermissions(texts: readonly string[]): Grants {
  const lists = { net: new Set<string>(), fs: new Set<string>(), env: new Set<string>() };
  const whole = new Set<string>();
  for (const grant of texts.flatMap((text) => text.split(',')).map((text) => text.trim())) {
    if (grant === '') continue;
    const at = grant.indexOf('=');
    const kind = at < 0 ? grant : grant.slice(0, at);
    const value = at < 0 ? undefined : grant.slice(at + 1).trim();
    checkGrant(grant, kind, value);
    if (value === undefined) whole.add(kind);
    else lists[kind as keyof typeof lists].add(value);
  }
  const granted = (kind: keyof typeof lists): true | readonly string[] | undefined =>
    whole.has(kind) ? true : lists[kind].size > 0 ? [...lists[kind]] : undefined;
  const [net, fs, env] = [granted('net'), granted('fs'), granted('env')];
  return {
    permissions: {
      ...(whole.has('shell') && { shell: true }),
      ...(net !== undefined && { net }),
      ...(fs !== undefined && { fs }),
      ...(env !== undefined && { env }),
    },
    inline: whole.has('inline'),
  };
}

function checkGrant(grant: string, kind: string, value: string | undefined): void {
  const refuse = (reason: string): never => {
    throw new CairnError('CONFIG_INVALID', { path: '--allow', reason });
  };
  if (!kinds.some((known) => known === kind)) {
    const near = nearest(kind, kinds);
    refuse(
      `there is no grant ${grant}${near === undefined ? '' : `; did you mean ${near}?`} Grants are: ${kinds.join(', ')}`,
    );
  }
  if (value === undefined) return;
  if (kind === 'shell' || kind === 'inline') refuse(`${kind} takes no value`);
  if (value === '') refuse(`${grant} names nothing`);
  if (kind === 'fs' && !/^(\/|[A-Za-z]:[\\/])/.test(value)) refuse(`${grant} is no absolute folder`);
  if (kind === 'net' && /[\s/]/.test(value)) refuse(`${grant} is no host; write net=example.org or net=localhost:8080`);
}
