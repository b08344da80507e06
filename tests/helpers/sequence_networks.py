"""Small networks of every kind of layer, in double precision, and data for them."""

import torch
from torch import nn

TOKENS, LENGTH, WIDTH, CLASSES = 12, 5, 6, 3


class Encoder(nn.Module):
    """Self-attention in an encoder layer, with dropout."""

    def __init__(self, batch_first=True):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(WIDTH, 2, 8, dropout=0.0, batch_first=batch_first)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        x = x if self.layer.self_attn.batch_first else x.transpose(0, 1)
        y = self.layer(x)
        return self.head(y.mean(1 if self.layer.self_attn.batch_first else 0))


class Decoder(nn.Module):
    """Attention from a few learned queries' places to other tokens: separate inputs of query, key and value."""

    def __init__(self, **options):
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, 2, batch_first=True, **options)
        self.keys, self.values = options.get("kdim", WIDTH), options.get("vdim", WIDTH)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        y, _ = self.attention(x[:, :2], x[:, 2:, : self.keys].contiguous(), x[:, 2:, : self.values].tanh())
        return self.head(y.mean(1))


def real_positions(x):
    """Return which positions of sequences (n, LENGTH, ...) are no padding: as many as their first number says."""
    return torch.arange(LENGTH) < 2 + 2 * (x.flatten(1)[:, :1] > 0)


class MaskedEncoder(nn.Module):
    """Two encoder layers that do not attend to padding; with `everything`, the mean is over padding as well."""

    def __init__(self, batch_first=True, everything=False):
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, 2, 8, dropout=0.0, batch_first=batch_first)
        self.encoder, self.everything = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), everything
        self.batch_first, self.head = batch_first, nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        real = real_positions(x)
        y = self.encoder(x if self.batch_first else x.transpose(0, 1), src_key_padding_mask=~real)
        y = y if self.batch_first else y.transpose(0, 1)
        weights = torch.ones_like(real, dtype=y.dtype) if self.everything else real.to(y.dtype)
        return self.head((y * weights[..., None]).sum(1) / weights.sum(1, keepdim=True))


class MaskedDecoder(nn.Module):
    """Attention of the first two tokens to all tokens that are no padding."""

    def __init__(self):
        super().__init__()
        self.attention, self.head = nn.MultiheadAttention(WIDTH, 2, batch_first=True), nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        return self.head(self.attention(x[:, :2], x, x, key_padding_mask=~real_positions(x))[0].mean(1))


class Lookup(nn.Module):
    """A table of words, of which the mean is classified."""

    def __init__(self, **options):
        super().__init__()
        self.table, self.head = nn.Embedding(TOKENS, WIDTH, **options), nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        return self.head(self.table(x).tanh().mean(1))


class Bag(nn.Module):
    """A table of words in bags; with `offsets`, in one long list of words, each with a weight."""

    def __init__(self, offsets=False, **options):
        super().__init__()
        self.table, self.head = nn.EmbeddingBag(TOKENS, WIDTH, **options), nn.Linear(WIDTH, CLASSES)
        self.offsets = offsets

    def forward(self, x):
        if not self.offsets:
            return self.head(self.table(x).tanh())
        begins, weights = torch.arange(0, x.numel(), LENGTH), torch.linspace(0.5, 1, LENGTH).repeat(len(x))
        return self.head(self.table(x.flatten(), begins, per_sample_weights=weights.to(self.head.weight.dtype)).tanh())


class Tied(nn.Module):
    """A language model: its output layer has the table of its words."""

    def __init__(self):
        super().__init__()
        self.table, self.inner = nn.Embedding(TOKENS, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, TOKENS, bias=False)
        self.head.weight = self.table.weight

    def forward(self, x):
        return self.head(self.inner(self.table(x).mean(1)).tanh())


class Twice(nn.Module):
    """Two linear layers with the same weight and separate biases."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, CLASSES)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.head(self.second(self.first(x).tanh()).tanh().mean(1))


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.inner = kind(WIDTH, 4, batch_first=True, **options)
        self.head = nn.Linear(8 if options.get("bidirectional") else 4, CLASSES)

    def forward(self, x):
        return self.head(self.inner(x)[0].mean(1))


class Steps(nn.Module):
    """A cell that goes through a sequence step by step."""

    def __init__(self, kind, **options):
        super().__init__()
        self.cell, self.head = kind(WIDTH, 4, **options), nn.Linear(4, CLASSES)

    def forward(self, x):
        state = None
        for step in x.unbind(1):
            state = self.cell(step, state)
        return self.head(state[0] if isinstance(state, tuple) else state)


class Convolution(nn.Module):
    """A convolution of any kind, in one, two or three dimensions, of inputs with four channels."""

    def __init__(self, kind, places, **options):
        super().__init__()
        self.inner, self.places = kind(4, 6, 3, **options), places
        self.head = nn.Linear(6, CLASSES)

    def forward(self, x):
        y = self.inner(x.flatten(1)[:, : 4 * self.places[-1]].view(-1, 4, *self.places[:-1]))
        return self.head(y.tanh().flatten(2).mean(2))


def words(seed, rows=20):
    """Return numbers of words, of which the tasks share some, and classes."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randint(2 * seed, 2 * seed + 6, (rows, LENGTH), generator=generator)
    return inputs, torch.randint(CLASSES, (rows,), generator=generator)


def vectors(seed, rows=20):
    """Return sequences of vectors, mostly in a few directions, and classes."""
    generator = torch.Generator().manual_seed(seed)
    directions = torch.randn(3, WIDTH, dtype=torch.float64, generator=generator)
    inputs = torch.randn(rows, LENGTH, 3, dtype=torch.float64, generator=generator) @ directions
    return inputs, torch.randint(CLASSES, (rows,), generator=generator)


def build(make):
    torch.manual_seed(0)
    return make().double()


NETWORKS = {
    "encoder": (Encoder, vectors),
    "encoder, length first": (lambda: Encoder(batch_first=False), vectors),
    "cross-attention": (Decoder, vectors),
    "attention, other widths": (lambda: Decoder(kdim=3, vdim=4, add_bias_kv=True), vectors),
    "encoder with padding": (MaskedEncoder, vectors),
    "encoder with padding, length first": (lambda: MaskedEncoder(batch_first=False), vectors),
    "encoder that uses padding": (lambda: MaskedEncoder(everything=True), vectors),
    "cross-attention with padding": (MaskedDecoder, vectors),
    "embedding": (Lookup, words),
    "embedding, by frequency": (lambda: Lookup(scale_grad_by_freq=True), words),
    "embedding bag": (lambda: Bag(mode="max"), words),
    "embedding bag with padding": (lambda: Bag(mode="mean", padding_idx=3, scale_grad_by_freq=True), words),
    "embedding bag with offsets": (lambda: Bag(offsets=True, mode="sum"), words),
    "embedding with padding": (lambda: Lookup(padding_idx=3), words),
    "shared weight": (Twice, vectors),
    "lstm": (lambda: Recurrent(nn.LSTM, num_layers=2, bidirectional=True), vectors),
    "gru": (lambda: Recurrent(nn.GRU), vectors),
    "rnn": (lambda: Recurrent(nn.RNN, nonlinearity="relu", bias=False), vectors),
    "lstm cell": (lambda: Steps(nn.LSTMCell), vectors),
    "gru cell": (lambda: Steps(nn.GRUCell, bias=False), vectors),
    "rnn cell": (lambda: Steps(nn.RNNCell), vectors),
    "conv1d": (lambda: Convolution(nn.Conv1d, (7, 7), groups=2, padding=1, dilation=2), vectors),
    "conv3d": (lambda: Convolution(nn.Conv3d, (2, 3, 1, 6), padding=(1, 0, 1), stride=(1, 1, 2)), vectors),
    "transposed 1d": (lambda: Convolution(nn.ConvTranspose1d, (7, 7), stride=2, padding=1), vectors),
    "transposed 2d": (lambda: Convolution(nn.ConvTranspose2d, (2, 3, 6), groups=2, output_padding=0), vectors),
    "transposed 3d": (lambda: Convolution(nn.ConvTranspose3d, (2, 3, 1, 6), bias=False), vectors),
}
