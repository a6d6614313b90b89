"""Commands in a bare Debian that `debootstrap --variant=minbase bookworm ROOT` made.  Run as root.      SPDX-License-Identifier: Apache-2.0"""
import pathlib
import resource
import shutil
import subprocess
import time

CERTIFICATES = '/root/certificates'  # where no package puts its own


def copy_tree(repository, place):
    """The files of HEAD, as a clone has them."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    tree = subprocess.run(['git', '-C', str(repository), 'archive', 'HEAD'], stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(['tar', '-x', '-C', str(place)], input=tree, check=True)


def connect(root):
    """What a machine needs to reach its packages."""
    for name, copy in (('etc/resolv.conf', 'etc/resolv.conf'), ('etc/ssl/certs/ca-certificates.crt', CERTIFICATES[1:])):
        if pathlib.Path('/', name).exists():
            shutil.copy(pathlib.Path('/', name), root / copy)


def inside(root, folder, command):
    """(status, output, seconds, processor seconds) of a command in a folder there."""
    script = (f'mount -t proc proc {root}/proc; mount --bind /dev {root}/dev; mount -t sysfs sys {root}/sys; '
              f'exec chroot {root} /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 '
              f'PIP_CERT={CERTIFICATES} bash -c "$1"')
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(['unshare', '--mount', 'sh', '-c', script, 'sh', f'cd {folder} && {{ {command}; }} 2>&1'], stdout=subprocess.PIPE, text=True,
                          check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.returncode, done.stdout, time.monotonic() - began, busy
