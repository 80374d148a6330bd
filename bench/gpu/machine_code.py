#!/usr/bin/env python3
"""What kernels' loops ask of a multiprocessor, read from their machine code: no GPU is needed.

    bench/gpu/machine_code.py build/all/CMakeFiles/napkin.dir/src/cuda/attention.cu.o
    bench/gpu/machine_code.py build/all/bench/gpu/libbench_gpu_k4.so --bandwidth 4.8e12

For each loop that moves vectors or multiplies matrices: its instructions, matrix products (mma) among them,
the bytes that a lane loads and stores, and cycles of a multiprocessor for a warp's turn: to issue, four a
cycle; of memory, at its share of `--bandwidth`; of the tensor cores, at mma.sync's share of theirs. Both ways
of a branch count, and what a loop reads again may come from a cache: the largest number is what bounds the
loop at least. Rates are an H100's (SXM) unless given. Needs cuobjdump, of the CUDA Toolkit."""
import argparse
import collections
import re
import shutil
import subprocess
import sys

INSTRUCTION = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?(\S+)(.*?);")
BYTES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
# Cycles of a multiprocessor for one mma.m16n8k16 of halves: 2,048 products, of which the four tensor cores do
# as many a cycle, and mma.sync reaches 0.62 of that.
MMA_CYCLES = 1 / 0.62


def kernels_in(path, arch):
    command = ["cuobjdump", "-sass", "-arch", arch, path]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    kernels = {}
    code = None
    for line in text.splitlines():
        if "Function : " in line:
            code = kernels.setdefault(line.split("Function : ")[1].strip(), [])
        elif code is not None and (m := INSTRUCTION.match(line)):
            address = int(m[1], 16)
            if not code or address > code[-1][0]:
                code.append((address, m[2], m[3]))
    return kernels


def loops_of(code):
    at = {address: i for i, (address, _, _) in enumerate(code)}
    for end, (_, what, rest) in enumerate(code):
        target = re.search(r"0x([0-9a-f]+)", rest)
        if what.startswith("BRA") and target and at.get(int(target[1], 16), end) < end:
            yield at[int(target[1], 16)], end + 1


def moved(body, kind):
    accesses = [what.split(".") for _, what, _ in body if what.startswith(kind)]
    return sum(next((BYTES[part] for part in what if part in BYTES), 4) for what in accesses)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("objects", nargs="+")
    arguments.add_argument("--arch", default="sm_90")
    arguments.add_argument("--bandwidth", type=float, default=3.35e12, help="bytes a second")
    arguments.add_argument("--clock", type=float, default=1.755e9, help="cycles a second")
    arguments.add_argument("--multiprocessors", type=int, default=132)
    arguments.add_argument("--most", type=int, default=3, help="the most frequent instructions that are shown")
    given = arguments.parse_args()
    if shutil.which("cuobjdump") is None:
        sys.exit("machine_code.py: no cuobjdump on PATH: it comes with the CUDA Toolkit")
    bytes_a_cycle = given.bandwidth / given.clock / given.multiprocessors
    print("instructions  mma  loads  stores  cycles: issue  memory  mma  most frequent, at, of")
    for path in given.objects:
        for name, code in kernels_in(path, given.arch).items():
            for begin, end in loops_of(code):
                body = code[begin:end]
                mma = sum(what.startswith("HMMA") for _, what, _ in body)
                loads, stores = moved(body, "LDG"), moved(body, "STG")
                if mma == 0 and loads + stores < 16:  # no vectors: not what a kernel's time goes to
                    continue
                count = collections.Counter(what.split(".")[0] for _, what, _ in body)
                frequent = " ".join(f"{n} {what}" for what, n in count.most_common(given.most))
                print(f"{len(body):12} {mma:4} {loads:6} {stores:7} {len(body) / 4:14.0f} "
                      f"{32 * (loads + stores) / bytes_a_cycle:7.0f} {mma * MMA_CYCLES:4.0f}  "
                      f"{frequent}, {body[0][0]:#x}, {name[:60]}")


if __name__ == "__main__":
    main()
