"""Virtual machines by QEMU: Linux with nothing but an init and the system's program, by KVM or emulated.

The program's output comes through the machine's first serial port, its standard error and the kernel's last words
through the second. What is to be run, which differs from trial to trial, is written on the kernel's command line.
"""

from __future__ import annotations

import base64
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from bakeoff import toolbox
from bakeoff.errors import CannotRun
from bakeoff.platforms import image, initramfs
from bakeoff.platforms.platform import Launch, Made, Platform, Program
from bakeoff.procedure import Limits
from bakeoff.toolbox import Tool

MEMORY = "1024M"
PATIENCE = 5.0  # seconds that a machine with KVM has for its first boot
LONGEST = 2000  # bytes of a kernel's command line, of 2048
# The exit code of the guest's program is told by QEMU's: 65 for 0, 67 for 1, up to 127 for 31 and more. QEMU uses 0 and
# 1 for itself.
TOLD = 32
INIT = f"""#!/bin/busybox sh
busybox mount -t devtmpfs devices /dev
busybox mount -t proc processes /proc
busybox mount -t sysfs system /sys
exec </dev/null >/dev/ttyS0 2>/dev/ttyS1
for port in /dev/ttyS0 /dev/ttyS1; do busybox stty -F $port raw; done
for module in /modules/*; do busybox insmod $module; done
busybox ip link set lo up
busybox ip address add 10.0.2.15/24 dev eth0 && busybox ip link set eth0 up
echo "$bakeoff" | busybox base64 -d > /run.sh
busybox sh /run.sh
code=$?
exec >/dev/null
[ $code -lt 32 ] || code=31
printf "\\\\$(printf %o $(({TOLD} + code)))" | busybox dd of=/dev/port bs=1 seek=$((0xf4)) count=1 conv=notrunc
busybox poweroff -f
"""
# The client: passes signals on, and turns QEMU's code into that of the guest's program.
RUN = f"""qemu-system-x86_64 "$@" &
trap "kill $!" TERM INT QUIT HUP
wait $!; code=$?
if [ $code -gt 128 ]; then wait $!; exit $code; fi
if [ $code -ge {2 * TOLD + 1} ]; then exit $(((code - {2 * TOLD + 1}) / 2)); fi
echo "the guest ended without telling its code; QEMU ended with $code" >&2
exit 1
"""


class Qemu(Platform):
    """A virtual machine of one CPU, with QEMU's user-mode network and folders by 9p."""

    needs = ("qemu", "linux-guest")
    own_kernel = True
    recipe = INIT

    def __init__(self, name: str, title: str, about: str, accelerator: str) -> None:
        self.name, self.title, self.about, self.accelerator = name, title, about, accelerator

    def missing(self, paths: list[str]) -> str | None:
        """With KVM a guest is booted: that /dev/kvm is there does not mean that it can be used."""
        return _cannot_boot(tuple(paths)) if self.accelerator == "kvm" else None

    def make(self, kind: str, artefact: Path, folder: Path, paths: list[str]) -> Made:
        """The first file system of the guest, with the program and its libraries."""
        files = {name: file for name, file in image.closure(artefact).items() if file != artefact}
        size = _pack(folder, files | {f"/{artefact.name}": artefact}, paths)
        return Made(folder, size)

    def launch(self, program: Program, made: Made | None, limits: Limits, paths: list[str]) -> Launch:
        """QEMU with a guest that runs the program and then goes off."""
        assert made is not None
        words = _machine(self.accelerator, made.folder, paths, _script(program))
        forward = ""
        if program.address:
            host, _, port = program.address.rpartition(":")
            forward = f",hostfwd=tcp:{host}:{port}-:{port}"
        words += ["-netdev", f"user,id=net{forward}", "-device", "virtio-net-pci,netdev=net,romfile="]
        for number, folder in enumerate(program.folders.values()):
            words += ["-virtfs", f"local,id=f{number},mount_tag=f{number},path={folder},security_model=none"]
        return Launch(["sh", "-c", RUN, "sh", *words])


def _script(program: Program) -> str:
    """What the guest runs. The program listens on all of the guest's addresses, since none of them is the host's."""
    host, _, port = (program.address or "").rpartition(":")
    words = [f"/{Path(program.artefact).name}"]
    words += [word.replace(f"{host}:{port}", f"0.0.0.0:{port}") if host else word for word in program.arguments]
    lines = [f"export {name}={shlex.quote(value)}" for name, value in program.env.items()]
    for number, inside in enumerate(program.folders):
        lines.append(f"busybox mkdir -p {shlex.quote(inside)}")
        lines.append(f"busybox mount -t 9p -o trans=virtio,version=9p2000.L f{number} {shlex.quote(inside)}")
    return "\n".join([*lines, f"exec {shlex.join(words)}"])


def _machine(accelerator: str, folder: Path, paths: list[str], script: str) -> list[str]:
    """The words of QEMU for a guest that runs a script."""
    told = base64.b64encode(script.encode()).decode()
    line = f"console=ttyS1 quiet loglevel=3 panic=-1 reboot=t random.trust_cpu=on bakeoff={told}"
    if len(line) > LONGEST:
        raise CannotRun("the program's arguments and variables are too long for a guest", "shorten them")
    return [
        *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-smp", "1", "-m", MEMORY),
        *("-machine", f"pc,accel={accelerator}", "-cpu", "max"),
        *("-kernel", str(_guest(paths) / "kernel"), "-initrd", str(folder / "initramfs"), "-append", line),
        *("-chardev", "stdio,id=out,signal=off", "-serial", "chardev:out"),
        *("-chardev", "file,id=err,path=/dev/stderr", "-serial", "chardev:err"),
        *("-device", "isa-debug-exit,iobase=0xf4,iosize=0x04"),
    ]


def _pack(folder: Path, files: Mapping[str, Path], paths: list[str]) -> int:
    """Writes the first file system of a guest; returns its size in bytes."""
    guest = _guest(paths)
    own: dict[str, Path | bytes] = {"/init": INIT.encode(), "/bin/busybox": guest / "busybox"}
    own |= {f"/modules/{module.name}": module for module in (guest / "modules").iterdir()}
    packed = initramfs.archive({**files, **own}, ("/dev", "/proc", "/sys", "/tmp"))
    (folder / "initramfs").write_bytes(packed)
    return len(packed)


def _guest(paths: list[str]) -> Path:
    """The folder of the guest's kernel, beside the program that says its version."""
    found = shutil.which("linux-guest", path=toolbox.environment(paths)["PATH"])
    if found is None:
        raise CannotRun("the guest's Linux is missing", "`bakeoff setup` fetches it")
    return Path(found).parent.parent / "guest"


@cache
def _cannot_boot(paths: tuple[str, ...]) -> str | None:
    """Why no guest boots by KVM, found by booting one that ends at once."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "this machine has no /dev/kvm that can be opened"
    with tempfile.TemporaryDirectory(prefix="bakeoff-kvm-") as folder:
        _pack(Path(folder), {}, list(paths))
        words = ["sh", "-c", RUN, "sh", *_machine("kvm", Path(folder), list(paths), "exit 7")]
        env = os.environ | toolbox.environment(list(paths))
        with subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env
        ) as guest:
            try:
                _, said = guest.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                guest.terminate()
                return f"this machine's KVM did not bring a guest up within {PATIENCE:g} s"
    last = (said.strip().splitlines() or ["no message"])[-1]
    return None if guest.returncode == 7 else f"this machine's KVM does not bring a guest up: {last}"


def platforms(tools: Mapping[str, Tool]) -> list[Platform]:
    """The platforms of this module."""
    about = "A virtual machine of one CPU, with Debian's kernel and the program alone, and QEMU's user-mode network;"
    return [
        Qemu("qemu", "microVM by QEMU", f"{about} the CPU runs the guest (KVM).", "kvm"),
        Qemu("qemu-emulated", "microVM by QEMU, emulated", f"{about} QEMU emulates the CPU.", "tcg"),
    ]
