"""Trains the small autoencoder by Lightning on CPU ranks that torchrun starts: a step line each step, a checkpoint every
--save-every steps, going on with the last one where there is one, as Lightning's documentation advises.

  torchrun --nproc-per-node 2 bench/peers/lightning_run.py --folder RUN --steps 12
"""
import logging
import os
import warnings

import peerlib as P

warnings.filterwarnings("ignore")


def main():
    a = P.run_arguments(__doc__)
    torch = P.setup(1)
    import lightning as L
    import trainer_data
    from lightning.pytorch.callbacks import ModelCheckpoint

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Autoencoder(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = P.autoencoder("small")

        def training_step(self, batch, _):
            return P.autoencoder_loss(self.net, batch)[0]

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=1e-4)

    class Lines(L.Callback):
        def on_train_batch_end(self, trainer, module, outputs, batch, index):
            steps.write(trainer.global_step, outputs["loss"])

    L.seed_everything(0, workers=True)
    module = Autoencoder()
    saves = ModelCheckpoint(dirpath=a.folder / "checkpoints", every_n_train_steps=a.save_every, save_last=True, save_top_k=1)
    trainer = L.Trainer(accelerator="cpu", devices=int(os.environ["LOCAL_WORLD_SIZE"]), strategy="ddp", max_steps=a.steps, callbacks=[saves, Lines()],
                        logger=False, enable_progress_bar=False, enable_model_summary=False)
    steps = trainer_data.Steps(a.folder, trainer.global_rank)
    loader = torch.utils.data.DataLoader(trainer_data.Crops(), batch_size=trainer_data.BATCH, shuffle=True)
    last = a.folder / "checkpoints" / "last.ckpt"
    trainer.fit(module, loader, ckpt_path=last if last.exists() else None)
    if trainer.is_global_zero:
        (a.folder / "weights.sha256").write_text(trainer_data.hash_of_weights(module.net))


if __name__ == "__main__":
    main()
