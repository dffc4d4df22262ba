"""The card's two ceilings: a copy of 8 GB, bytes read and written counted, and a product of 8192 x 8192 bf16 matrices."""

import torch

from card import DEVICE, ON_A_CARD, median_ms


def main():
    numbers, side = (2_000_000_000, 8192) if ON_A_CARD else (1_000_000, 256)
    source = torch.randn(numbers, device=DEVICE, dtype=torch.float32).to(torch.bfloat16)
    target = torch.empty_like(source)
    copy = median_ms(lambda i: target.copy_(source), 10, warm=2)
    terabytes = 2 * source.nbytes / copy / 1e9
    del source, target
    a, b = (torch.randn(side, side, device=DEVICE).to(torch.bfloat16) for _ in range(2))
    product = median_ms(lambda i: a @ b, 20, warm=3)
    teraflops = 2 * side**3 / product / 1e9
    name = torch.cuda.get_device_name() if ON_A_CARD else "no card"
    print(f"torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {name}")
    if ON_A_CARD:
        free, whole = torch.cuda.mem_get_info()
        print(f"memory {free / 2**30:.1f} of {whole / 2**30:.1f} GiB free, {torch.cuda.get_device_properties(0)}")
    print(f"figures: copy {terabytes:.2f} TB/s, {side}^3 bf16 {teraflops:.0f} TFLOP/s")


if __name__ == "__main__":
    main()
