"""Trains the small autoencoder by Accelerate on CPU ranks that torchrun starts: a step line each step, a checkpoint every
--save-every steps, going on with the last one where there is one, as Accelerate's documentation advises.

  torchrun --nproc-per-node 2 bench/peers/accelerate_run.py --folder RUN --steps 12
"""
import warnings

import peerlib as P

warnings.filterwarnings("ignore")


def newest(folder):
    saved = sorted(folder.glob("step-*"))
    return (saved[-1], int(saved[-1].name.split("-")[1])) if saved else (None, 0)


def main():
    a = P.run_arguments(__doc__)
    torch = P.setup(1)
    import trainer_data
    from accelerate import Accelerator
    from accelerate.utils import set_seed

    accelerator = Accelerator(cpu=True)
    set_seed(0)
    net = P.autoencoder("small")
    opt = torch.optim.Adam(net.parameters(), lr=1e-4)
    loader = torch.utils.data.DataLoader(trainer_data.Crops(), batch_size=trainer_data.BATCH, shuffle=True)
    net, opt, loader = accelerator.prepare(net, opt, loader)
    saved, step = newest(a.folder)
    if saved:
        accelerator.load_state(str(saved))
    lines = trainer_data.Steps(a.folder, accelerator.process_index)
    while step < a.steps:
        epoch, passed = divmod(step, len(loader))
        loader.set_epoch(epoch)
        for batch in accelerator.skip_first_batches(loader, passed) if passed else loader:
            opt.zero_grad()
            loss = P.autoencoder_loss(net, batch)[0]
            accelerator.backward(loss)
            opt.step()
            step += 1
            lines.write(step, loss.detach())
            if step % a.save_every == 0:
                accelerator.save_state(str(a.folder / f"step-{step:08d}"))
            if step == a.steps:
                break
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        (a.folder / "weights.sha256").write_text(trainer_data.hash_of_weights(accelerator.unwrap_model(net)))
    accelerator.end_training()


if __name__ == "__main__":
    main()
