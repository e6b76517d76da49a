/** Thirty ways out of a sandbox, for a process that is root and for one that is not. */

/** Where something is that must not be reached. */
export interface EscapeGoals {
  /** A folder with `secret.txt`, in which the folders of sandboxes are. */
  readonly place: string;
  /** The port on loopback of a server that says `reached`. */
  readonly port: number;
}

/** Bounds for the scripts: some try to use more. */
export const escapeLimits = { processes: 20, memoryBytes: 256 * 1024 * 1024, diskBytes: 16 * 1024 * 1024 };

/** What is wrong with what a script printed; empty: it ran, and led nowhere. @param secret - what stands in the secret file */
export function escaped(name: string, stdout: string, secret: string): readonly string[] {
  if (!stdout.endsWith('ran\n')) return [`${name}: it did not run: ${stdout}`];
  return /through|reached/u.test(stdout) || stdout.includes(secret) ? [`${name}: ${stdout.slice(0, 200)}`] : [];
}

const python = (code: string): string => `python3 -c '${code}'`;

/** The scripts by name, for `sh -c`. Each prints `through` or `reached`, or the secret, if it leads somewhere; then `ran`. */
export function escapesOf({ place, port }: EscapeGoals): Readonly<Record<string, string>> {
  const scripts: Readonly<Record<string, string>> = {
    'a server of this machine': `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3; ${python(`import socket; print(socket.create_connection(("127.0.0.1", ${port}), 2).recv(9))`)}`,
    'the network by address': python('import socket; socket.create_connection(("1.1.1.1", 53), 2); print("through")'),
    'the network by name': python('import socket; print("through", socket.gethostbyname("localhost.localdomain"))'),
    'a raw socket': python('import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print("through")'),
    'a packet socket': python('import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print("through")'),
    'an abstract socket of this machine': `test "$(wc -l < /proc/net/unix)" -gt 1 && echo through`,
    'another network interface': 'test "$(grep -c : /proc/net/dev)" -gt 1 && echo through',
    'a file beside the folder': `cat ${place}/secret.txt /box/../secret.txt`,
    'a file by a link': `ln -s ${place}/secret.txt l && cat l; rm -f l`,
    'a file by the root of another process': `cat /proc/1/root${place}/secret.txt /proc/*/root${place}/secret.txt`,
    'a file by an open descriptor': `ls -l /proc/self/fd /proc/1/fd | grep ${place} && echo through`,
    'passwords of this machine': 'cat /etc/shadow && echo through',
    'users of this machine': 'cat /etc/passwd && echo through',
    'a home': 'ls /root /home && echo through',
    'processes of this machine': `test -d /proc/${process.pid} && test ${process.pid} -gt 40 && echo through`,
    'a signal to a process of this machine': `kill -0 ${process.pid} && test ${process.pid} -gt 40 && echo through`,
    'the environment of this process':
      'cat /proc/1/environ | tr "\\\\0" "\\\\n" | grep -i "vitest\\|npm_" && echo through',
    'the environment that is passed on': 'env | grep -i "vitest\\|npm_" && echo through',
    'being root': 'test "$(id -u)" = 0 && echo through',
    'a user namespace': 'unshare -U true && echo through',
    'another mount': 'mount -t tmpfs none /box && echo through',
    'a change of /usr': 'touch /usr/x && echo through',
    'a change of /': 'touch /x && echo through',
    'a change of the kernel': 'echo 1 > /proc/sys/kernel/hostname && echo through',
    'a device':
      'cat /dev/mem /dev/sda /dev/kmsg 2>/dev/null | head -c 1 | grep . && echo through; mknod d b 8 0 && echo through',
    'a terminal': 'test -e /dev/tty && echo x > /dev/tty && echo through',
    capabilities: 'grep -q "CapEff:.*[1-9a-f]" /proc/self/status && echo through',
    // The kernel counts all processes of a user, also those that were just ending when the bound was set: a few more may begin.
    'more processes than allowed': python(
      'import os,time\nn=0\nfor i in range(60):\n  try:\n    if os.fork()==0: time.sleep(9); os._exit(0)\n    n+=1\n  except OSError: break\nprint("through" if n>=40 else "held")',
    ).replaceAll('\n', '\n'),
    'more memory than allowed': python('x = bytearray(600 * 1024 * 1024); print("through")'),
    'a larger /tmp than allowed':
      'head -c 30000000 /dev/zero > /tmp/a; head -c 30000000 /dev/zero > /tmp/b; test "$(du -sk /tmp | cut -f1)" -gt 40000 && echo through',
  };
  return Object.fromEntries(Object.entries(scripts).map(([name, script]) => [name, `( ${script} ) 2>&1; echo ran`]));
}
