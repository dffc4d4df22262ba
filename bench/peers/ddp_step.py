"""Times the data-parallel step of the small autoencoder: PyTorch's DDP over gloo, N processes of one thread each.

Weak scaling: every process has a batch of its own of 2 crops of 48 cubed. Timed in turn within the same processes:
  solo          rank 0 alone, no DDP, the others wait
  pair_no_sync  all ranks compute, nothing is exchanged: what sharing the memory costs
  ddp           DDP as constructed by default (bucket_cap_mb 25, find_unused_parameters False)
  ddp_unused    find_unused_parameters True, as in MONAI's tutorial
  ddp_bucket1   bucket_cap_mb 1
  ddp_view      gradient_as_bucket_view True, static_graph True
Efficiency = solo / mode. The time of a mode is the slowest rank's.

  python bench/peers/ddp_step.py --world 2 --threads 1
"""
import argparse
import os
import tempfile
import time

import peerlib as P

MODES = {"ddp": {}, "ddp_unused": dict(find_unused_parameters=True), "ddp_bucket1": dict(bucket_cap_mb=1),
         "ddp_view": dict(gradient_as_bucket_view=True, static_graph=True)}


def make_steps(torch, rank, modes):
    """{mode: its training step}, each with a network of its own."""
    from torch.nn.parallel import DistributedDataParallel as DDP

    def make(wrap):
        torch.manual_seed(0)
        net = P.autoencoder("small")
        run = wrap(net)
        opt = torch.optim.Adam(net.parameters(), lr=1e-4, fused=True)
        g = torch.Generator().manual_seed(100 + rank)
        data = [torch.rand(P.AE_SHAPE["small"], generator=g) for _ in range(4)]
        step = P.training_step(torch, net, opt, lambda i: P.autoencoder_loss(run, data[i % 4])[0], "fp32")
        step.net = net
        return step

    steps = {"solo": make(lambda n: n), "pair_no_sync": make(lambda n: n)}
    for name in modes:
        steps[name] = make(lambda n, kw=MODES[name]: DDP(n, **kw))
    return steps


def bare_all_reduce(torch, elements):
    """Milliseconds that the exchange of the gradient's bytes takes alone, as a floor."""
    import torch.distributed as dist

    flat = torch.zeros(elements)
    ms = []
    for _ in range(20):
        dist.barrier()
        t = time.perf_counter()
        dist.all_reduce(flat)
        ms.append((time.perf_counter() - t) * 1e3)
    return P.summary(ms)


def replicas_are_equal(torch, steps):
    import torch.distributed as dist

    same = True
    for name in steps:
        if name.startswith("ddp"):
            v = torch.cat([p.detach().flatten() for p in steps[name].net.parameters()])
            w = v.clone()
            dist.broadcast(w, 0)
            d = (v - w).abs().max()
            dist.all_reduce(d, op=dist.ReduceOp.MAX)
            same = same and float(d) == 0.0
    return same


def time_blocks(torch, rank, a, steps):
    """{mode: milliseconds a step of each block, the slowest rank's}, the modes in turn."""
    import torch.distributed as dist

    def block(name, count):
        dist.barrier()
        t = time.perf_counter()
        if name != "solo" or rank == 0:
            for _ in range(count):
                steps[name]()
        ms = torch.tensor([(time.perf_counter() - t) * 1e3 / count], dtype=torch.float64)
        dist.all_reduce(ms, op=dist.ReduceOp.MAX)  # also the barrier that the waiting ranks sit in
        return float(ms)

    for name in steps:
        block(name, a.warmup)
    ms = {m: [] for m in steps}
    order = list(steps)
    for b in range(a.blocks):
        for name in order if b % 2 == 0 else order[::-1]:
            ms[name].append(block(name, a.steps))
    return ms


def worker(rank, a, store):
    torch = P.setup(a.threads)
    import torch.distributed as dist

    if a.pin:
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[rank % len(cores)]})
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=a.world)
    steps = make_steps(torch, rank, a.modes.split(","))
    ms = time_blocks(torch, rank, a, steps)
    exchange = bare_all_reduce(torch, steps["solo"].parameters)
    same = replicas_are_equal(torch, steps)
    rss = torch.tensor([P.peak_rss_mib()])
    dist.all_reduce(rss, op=dist.ReduceOp.MAX)
    if rank == 0:
        out = {m: P.summary(v) for m, v in ms.items()}
        for m in out:
            out[m]["efficiency"] = round(out["solo"]["median_ms"] / out[m]["median_ms"], 4)
            out[m]["x_vs_pair_no_sync"] = round(out["pair_no_sync"]["median_ms"] / out[m]["median_ms"], 4)
        P.emit(script="ddp_step", world=a.world, backend="gloo", pinned=a.pin, gradient_bytes=steps["solo"].parameters * 4,
               bare_all_reduce=exchange, replicas_equal=same, result=out, peak_rss_mib_per_rank=float(rss), versions=P.versions())
    dist.barrier()
    dist.destroy_process_group()


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--world", type=int, default=2)
    ap.add_argument("--threads", type=int, default=1, help="per process")
    ap.add_argument("--modes", default=",".join(MODES))
    ap.add_argument("--pin", action="store_true", help="pin rank r to the r-th core")
    ap.add_argument("--blocks", type=int, default=6)
    ap.add_argument("--steps", type=int, default=2)
    ap.add_argument("--warmup", type=int, default=2)
    a = ap.parse_args()
    import torch.multiprocessing as mp

    with tempfile.TemporaryDirectory() as d:
        mp.spawn(worker, args=(a, os.path.join(d, "store")), nprocs=a.world)


if __name__ == "__main__":
    main()
