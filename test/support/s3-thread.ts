/** The server of S3 in a thread of its own, for tests that wait for commands without giving way to what else their process does. */
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { once } from 'node:events';
import { startS3, type S3UnderTest } from './s3-server.ts';

export type S3InThread = Pick<S3UnderTest, 'endpoint' | 'bucket' | 'folder' | 'stop'>;

/** @returns why there is none, as `startS3` */
export async function startS3Thread(): Promise<S3InThread | string> {
  const thread = new Worker(new URL(import.meta.url));
  const [started] = (await once(thread, 'message')) as [Omit<S3InThread, 'stop'> | string];
  const stop = async (): Promise<void> => {
    const ended = once(thread, 'exit');
    thread.postMessage('stop');
    await ended;
  };
  if (typeof started !== 'string') return { ...started, stop };
  await stop();
  return started;
}

if (!isMainThread && parentPort !== null) {
  const started = await startS3();
  if (typeof started === 'string') parentPort.postMessage(started);
  else {
    const { endpoint, bucket, folder } = started;
    parentPort.postMessage({ endpoint, bucket, folder });
  }
  await once(parentPort, 'message');
  if (typeof started !== 'string') await started.stop();
}
