/** Runs scripts in sandboxes of bubblewrap as the user that it is started as, and prints what each printed, as JSON. */
import { bubblewrap } from '../../src/sandboxes/bubblewrap.ts';
import { escapeLimits, escapesOf } from './escapes.ts';

const [place = '', port = ''] = process.argv.slice(2);
const scripts = {
  'an ordinary command': 'echo made > f; cat f; echo ran',
  ...escapesOf({ place, port: Number(port) }),
};
const printed: Record<string, string> = {};
for (const [name, script] of Object.entries(scripts)) {
  const box = await bubblewrap({ place }).create({ key: name, network: false, limits: escapeLimits });
  let text = '';
  await box.exec(['/bin/sh', '-c', script], {
    signal: AbortSignal.timeout(20_000),
    key: name,
    onOutput: (stream, bytes) => {
      if (stream === 'stdout') text += Buffer.from(bytes).toString();
    },
  });
  printed[name] = text;
  await box.close();
}
// A folder that the host's user may not read hides what is in it, and what a command leaves closed can be removed all the same.
const closing = await bubblewrap({ place }).create({
  key: 'closed',
  network: false,
  limits: { ...escapeLimits, diskBytes: 4_000_000 },
});
const { exceeded } = await closing.exec(
  ['/bin/sh', '-c', 'mkdir h; exec 3>h/a; chmod 000 h; head -c 6000000 /dev/zero >&3; sleep 15'],
  { signal: AbortSignal.timeout(20_000), key: 'closed', onOutput: () => undefined },
);
await closing.close();
process.stdout.write(JSON.stringify({ user: process.getuid?.(), exceeded, printed }));
