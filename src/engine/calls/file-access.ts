/** Files of a tenant: bytes in the blob store, references as values. */
import { FileRef } from '../../graph/file-ref.ts';
import type { FileAccess } from '../../graph/node-contract.ts';
import type { EngineEnvironment } from '../run/run-core.ts';

export function accessFiles({ blobs, tenant }: Pick<EngineEnvironment, 'blobs' | 'tenant'>): FileAccess {
  return {
    async put(bytes, { name, type = 'application/octet-stream' }) {
      const hash = await blobs.put(tenant, bytes);
      return new FileRef({ hash, name, type, sizeBytes: bytes.byteLength });
    },
    get: ({ hash }) => blobs.get(tenant, hash),
  };
}
