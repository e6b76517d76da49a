/** Files of a tenant: the bytes are in the blob store, and references stand for them. */
import { FileRef } from '../../graph/file-ref.ts';
import type { FileAccess } from '../../graph/contracts/access.ts';
import type { BlobOwner } from '../../ports/blobs.ts';
import { maskedFile } from '../../state/values/admit.ts';
import type { RunSecrets } from '../live-run/committer.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';

/** @param secrets - masked in what a node stores */
export function accessFiles(
  { blobs }: Pick<EngineEnvironment, 'blobs'>,
  owner: BlobOwner,
  secrets?: RunSecrets,
): FileAccess {
  return {
    async put(content, { name, type = 'application/octet-stream' }) {
      const mask = secrets?.mask;
      const bytes = mask?.bytes(content) ?? content;
      const hash = await blobs.put(owner, bytes);
      const file = new FileRef({ hash, name, type, sizeBytes: bytes.byteLength });
      return mask === undefined ? file : maskedFile(mask, file);
    },
    get: ({ hash }) => blobs.get(owner.tenant, hash),
  };
}
