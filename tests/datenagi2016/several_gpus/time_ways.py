"""Prove and time every exchange and variant on several GPUs, and one GPU's kernels by themselves.

    mpiexec -n 2 python tests/datenagi2016/several_gpus/time_ways.py --device gpu --n 2000 10000
    python tests/datenagi2016/several_gpus/time_ways.py --device gpu --n 2000 10000

On several ranks: for each way that this machine has, the median of three runs from device memory to
device memory, behind a run that warms up; every answer is proved strip by strip. In one process:
device time a launch of each kernel of both variants, which a change of the kernels' shapes must
leave as it was.
"""

import argparse
import statistics
import time

from papers.common import instances
from papers.common.gpu import device
from papers.common.gpu.clocks import KernelClock, Stopwatch
from papers.common.gpu.environment import MissingPackageError
from papers.common.instances.matrices import sources
from papers.common.model import Instance
from papers.common.mpi.job import size_of_job
from papers.common.problems import assignment_proof, assignment_proof_by_strips
from papers.datenagi2016 import solver as one_gpu

WAYS = (
    ("tree", "auto"), ("tree", "peers"), ("tree", "nccl"), ("tree", "allgather"),
    ("tree", "gather"), ("classical", "auto"),
)  # fmt: skip


def on_ranks(kind, orders, label):
    """One line a way."""
    from papers.common.mpi import ranks
    from papers.datenagi2016.several_gpus import solver

    comm = ranks.world()
    ranks.take_device(comm, kind)

    def synchronize():
        device.synchronize()
        ranks.barrier(comm)

    for n in orders:
        instance = Instance("uniform", n, label, seed=1)
        for variant, way in WAYS:
            try:
                state = solver.upload(instance, variant=variant, exchange=way, comm=comm)
            except MissingPackageError as error:
                if comm.rank == 0:
                    print(f"n={n} {variant} {way}: {error}", flush=True)
                continue
            solver.run(state)
            times = []
            for _ in range(3):
                with Stopwatch(synchronize) as lap:
                    solver.run(state)
                times.append(lap.ms)
            answer = solver.download(state)
            proof = assignment_proof_by_strips.assignment(
                comm, sources.as_source(instance), answer, state.strip.by_rows
            )
            if comm.rank == 0:
                taken = type(state.exchange).__name__
                print(
                    f"n={n} {variant} {way}: {statistics.median(times):.1f} ms by {taken}, cost "
                    f"{answer.cost}, {proof.kind} {proof.ok} {state.reason}",
                    flush=True,
                )
            assert proof.ok, proof
            del state


def alone(kind, orders, label):
    """One line a kernel."""
    gpu = device.select(kind).is_gpu
    for n in orders:
        cost = instances.draw(Instance("uniform", n, label, seed=1))
        for variant in ("tree", "classical"):
            state = one_gpu.upload(cost, variant=variant)
            one_gpu.run(state)
            began = time.perf_counter()
            one_gpu.run(state)
            device.synchronize()
            print(f"n={n} {variant}: {1e3 * (time.perf_counter() - began):.1f} ms", flush=True)
            proof = assignment_proof.assignment(cost, one_gpu.download(state))
            assert proof.ok, proof
            if not gpu:
                continue  # the executor has no device time
            with KernelClock() as clock:
                one_gpu.run(state)
            for name, (launches, ms) in sorted(clock.by_kernel.items()):
                print(f"  {name}: {launches} launches, {1e3 * ms / launches:.2f} us each")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="auto", choices=("auto", "gpu", "cpu"))
    parser.add_argument("--n", type=int, nargs="+", default=[2000, 10_000])
    parser.add_argument("--label", default="10n", help="range of the costs")
    given = parser.parse_args()
    (on_ranks if size_of_job() > 1 else alone)(given.device, given.n, given.label)
