/** Runs commands in sandboxes of bubblewrap as the user that it is started as, and prints what came of each, as JSON. */
import { bubblewrap } from '../../src/sandboxes/bubblewrap.ts';

const [place = ''] = process.argv.slice(2);
const limits = { processes: 20, memoryBytes: 256 * 1024 * 1024, diskBytes: 16 * 1024 * 1024 };
const python = (code: string): readonly string[] => ['python3', '-c', code];
const commands: Readonly<Record<string, readonly string[]>> = {
  'an ordinary command': ['/bin/sh', '-c', 'echo held > f; cat f'],
  'the network': python(
    'import socket\ntry:\n  socket.create_connection(("1.1.1.1", 53), 2); print("through")\nexcept OSError: print("held")',
  ),
  'a file of this machine': ['/bin/sh', '-c', `cat ${place}/secret.txt && echo through || echo held`],
  'more processes than allowed': python(
    'import os, time\nn = 0\nfor i in range(60):\n  try:\n    if os.fork() == 0: time.sleep(9); os._exit(0)\n    n += 1\n  except OSError: break\nprint("through" if n >= 20 else "held")',
  ),
  'more memory than allowed': python(
    'try:\n  x = bytearray(600 * 1024 * 1024); print("through")\nexcept MemoryError: print("held")',
  ),
  'another user': ['/bin/sh', '-c', 'test "$(id -u)" = 0 && echo through || echo held'],
};

const ended: Record<string, string> = { user: String(process.getuid?.()) };
for (const [name, argv] of Object.entries(commands)) {
  const box = await bubblewrap({ place }).create({ key: name, network: false, limits });
  let said = '';
  await box.exec(argv, {
    signal: AbortSignal.timeout(20_000),
    key: name,
    onOutput: (_, bytes) => (said += Buffer.from(bytes).toString()),
  });
  ended[name] = said.trim().split('\n').at(-1) ?? '';
  await box.close();
}
process.stdout.write(JSON.stringify(ended));
