#!/usr/bin/env python3
"""Writes the first files of the corpora: small ones of every form, whole and damaged. usage: write_seeds.py FOLDER"""

import json
import pickle
import struct
import sys
from pathlib import Path


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def safetensors_seeds():
    yield "empty", safetensors({})
    yield "one", safetensors({"a": tensor("F32", [2], 0, 8)}, bytes(8))
    yield "layers", safetensors({"m.0.w": tensor("BF16", [2, 2], 0, 8), "m.1.w": tensor("F16", [1], 8, 10),
                                 "__metadata__": {"format": "pt"}}, bytes(10))
    yield "small-types", safetensors({"a": tensor("F4", [2, 1], 0, 1), "b": tensor("F6_E2M3", [4], 1, 4),
                                      "c": tensor("BOOL", [], 4, 5)}, bytes(5))
    yield "zero", safetensors({"a": tensor("U8", [0, 5], 0, 0)})
    yield "escapes", safetensors(b'{"\\u00e4\\ud83d\\ude00\\n":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"x")
    yield "unknown-member", safetensors(b'{"a":{"x":[1,{"y":-1.5e3}],"dtype":"U8","shape":[1],"data_offsets":[0,1]}} ', b"x")
    yield "overlap", safetensors({"a": tensor("U8", [2], 0, 2), "b": tensor("U8", [2], 1, 3)}, bytes(3))
    yield "huge-shape", safetensors({"a": tensor("U8", [2**60, 2**60], 0, 1)}, b"x")
    yield "huge-length", struct.pack("<Q", 2**60) + b"{}"
    yield "deep", safetensors(b'{"a":{"x":' + b"[" * 80)
    yield "index", b'{"metadata":{"total_size":8},"weight_map":{"a":"s.safetensors"}}'
    yield "index-missing", b'{"weight_map":{"b":"s.safetensors","a":"t.safetensors"}}'
    yield "index-outside", b'{"weight_map":{"a":"../s.safetensors"}}'


def packed(shapes):
    """Tensors of one byte an element, one behind the other."""
    header, end = {}, 0
    for name, shape in shapes.items():
        count = 1
        for size in shape:
            count *= size
        header[name] = tensor("U8", shape, end, end + count)
        end += count
    return safetensors(header, bytes(end))


def told_seeds():
    """Tensors that tell a model, and some that almost do."""
    gpt2 = {"wte.weight": [4, 2], "wpe.weight": [2, 2], "h.0.ln_1.weight": [2], "h.0.ln_1.bias": [2],
            "h.0.attn.c_attn.weight": [2, 6], "h.0.attn.c_attn.bias": [6], "h.0.attn.c_proj.weight": [2, 2],
            "h.0.attn.c_proj.bias": [2], "h.0.ln_2.weight": [2], "h.0.ln_2.bias": [2], "h.0.mlp.c_fc.weight": [2, 4],
            "h.0.mlp.c_fc.bias": [4], "h.0.mlp.c_proj.weight": [4, 2], "h.0.mlp.c_proj.bias": [2], "ln_f.weight": [2],
            "ln_f.bias": [2]}
    layer = "model.layers.0."
    llama = {"model.embed_tokens.weight": [3, 4], layer + "self_attn.q_proj.weight": [4, 4],
             layer + "self_attn.k_proj.weight": [2, 4], layer + "self_attn.v_proj.weight": [2, 4],
             layer + "self_attn.o_proj.weight": [4, 4], layer + "self_attn.rotary_emb.inv_freq": [1],
             layer + "mlp.gate_proj.weight": [2, 4], layer + "mlp.up_proj.weight": [2, 4],
             layer + "mlp.down_proj.weight": [4, 2], layer + "input_layernorm.weight": [4],
             layer + "post_attention_layernorm.weight": [4], "model.norm.weight": [4], "lm_head.weight": [3, 4]}
    yield "told-gpt2", packed(gpt2)
    yield "told-llama", packed(llama)
    yield "told-qwen3", packed({**llama, layer + "self_attn.q_norm.weight": [2]})
    yield "told-empty", packed({**llama, layer + "self_attn.q_proj.weight": [0, 2**62]})
    yield "told-vit", packed({"embeddings.patch_embeddings.projection.weight": [2, 1, 1, 1], "embeddings.cls_token": [1, 1, 2],
                              "embeddings.position_embeddings": [1, 5, 2]})
    yield "told-t5", packed({"shared.weight": [3, 2], "encoder.block.0.layer.0.SelfAttention.q.weight": [2, 2],
                             "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight": [4, 1]})


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key, kind, form, value):
    return text(key) + struct.pack("<I", kind) + (text(value) if kind == 8 else struct.pack("<" + form, value))


def gguf(tensors, entries, data=b"", version=3):
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(entries)) + b"".join(entries)
    for name, sizes, kind, offset in tensors:
        head += text(name) + struct.pack("<I", len(sizes)) + b"".join(struct.pack("<Q", n) for n in sizes)
        head += struct.pack("<IQ", kind, offset)
    return head + bytes(-len(head) % 32) + data


def gguf_seeds():
    architecture = [entry("general.architecture", 8, "", "llama")]
    numbers = [entry(f"llama.{key}", 4, "I", value) for key, value in
               (("context_length", 8), ("embedding_length", 4), ("block_count", 1), ("feed_forward_length", 4),
                ("attention.head_count", 2))]
    norm = [entry("llama.attention.layer_norm_rms_epsilon", 6, "f", 1e-5)]
    yield "empty", gguf([], [])
    yield "version-2", gguf([], architecture, version=2)
    yield "one", gguf([("token_embd.weight", [4, 3], 0, 0)], architecture + numbers + norm, bytes(64))
    yield "layer", gguf([("token_embd.weight", [4, 3], 0, 0), ("blk.0.attn_q.weight", [4, 4], 1, 64),
                         ("output_norm.weight", [4], 0, 96)], architecture + numbers, bytes(128))
    yield "quantised", gguf([("a", [256, 2], 12, 0), ("b", [32], 8, 288)], [], bytes(352))
    yield "alignment", gguf([("a", [1], 24, 0)], [entry("general.alignment", 4, "I", 64)], bytes(96))
    yield "all-types", gguf([], [entry("a", 0, "B", 1), entry("b", 1, "b", -1), entry("c", 2, "H", 1), entry("d", 3, "h", 1),
                                 entry("e", 5, "i", 1), entry("f", 7, "B", 1), entry("g", 10, "Q", 1), entry("h", 11, "q", 1),
                                 entry("i", 12, "d", 1.0)])
    yield "list", gguf([], [text("llama.attention.head_count_kv") + struct.pack("<IIQII", 9, 4, 2, 1, 1)])
    yield "words", gguf([], [text("t") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("bc")])
    yield "nested", gguf([], [text("n") + struct.pack("<IIQ", 9, 9, 1) + struct.pack("<IQB", 0, 1, 7)])
    yield "huge-counts", b"GGUF" + struct.pack("<IQQ", 3, 2**60, 2**60)
    yield "huge-text", b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**60) + bytes(8)
    yield "split", gguf([("a", [1], 24, 0)], [entry("split.count", 2, "H", 2)], bytes(32))
    yield "big-endian", b"GGUF" + struct.pack(">IQQ", 3, 0, 1) + struct.pack(">Q", 1) + b"a" + struct.pack(">II", 4, 1)
    for name in ("gpt2", "bert", "qwen2", "bloom"):
        yield name, gguf([("token_embd.weight", [4, 3], 0, 0)], [entry("general.architecture", 8, "", name)] + [
            entry(f"{name}.{key}", 4, "I", value) for key, value in
            (("context_length", 8), ("embedding_length", 4), ("block_count", 1), ("attention.head_count", 2))], bytes(64))


def config_seeds(root):
    for path in sorted((root / "models/catalogue").glob("tiny-*/config.json")):
        document = json.loads(path.read_text())
        yield path.parent.name, json.dumps(document, separators=(",", ":")).encode()
    yield "empty", b"{}"
    yield "list", b"[]"
    yield "deep", b'{"a":' * 40 + b"1" + b"}" * 40
    yield "huge", b'{"model_type":"llama","hidden_size":1099511627776,"num_attention_heads":1}'
    yield "null", b'{"model_type":"gpt2","n_inner":null,"torch_dtype":"float16"}'


def yaml_seeds():
    head = "version: 1\nname: a\n"
    yield "one", head + "cases:\n  - model: gpt2\n    mode: load\n"
    yield "lists", head + "cases:\n  - model: [gpt2, bert-base-cased]\n    mode: infer\n    batch: [1, 8]\n    seq: [8]\n"
    yield "defaults", head + "defaults: {precision: float16}\ncases:\n  - {model: gpt2, mode: train, optimizer: sgd-momentum}\n"
    yield "exclude", head + ("cases:\n  - model: gpt2\n    mode: [load, infer]\n    exclude:\n      - mode: load\n"
                             "    include:\n      - {mode: generate, new_tokens: 4}\n")
    yield "tolerances", head + "tolerances:\n  accelerate: {total_bytes: 5%}\ncases:\n  - {model: m, mode: load}\n"
    yield "anchor", head + "cases:\n  - &a {model: m, mode: load}\n  - *a\n"
    yield "quotes", head + 'description: "a\\tb\\u00e4"\ncases:\n  - {model: \'m\', mode: "load"}\n'
    yield "block", head + "description: |\n  several\n  lines\ncases: []\n"
    yield "two-documents", head + "---\n" + head
    yield "duplicate", head + "name: b\ncases: []\n"
    yield "deep", "a: " + "[" * 100
    yield "merge", "a: &a {b: 1}\nc: {<<: *a}\n"
    yield "empty", ""


def json_seeds():
    yield "numbers", b'[0,-0,1.5,-2e10,1E-3,123456789012345678,9223372036854775807,0.1e+1]'
    yield "too-large", b'{"a":9223372036854775808}'
    yield "words", b'{"a":null,"b":true,"c":false}'
    yield "escapes", '{"a\\u0041":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\ud83d\\ude00 \u00e4\u20ac"}'.encode()
    yield "nested", b'{"a":[{"b":[[],{}]},[1,[2,[3]]]]}'
    yield "deep", b"[" * 70 + b"]" * 70
    yield "double", b'{"a":1,"b":2,"a":3}'
    yield "mark", b'\xef\xbb\xbf{"a":1}'
    yield "cut", b'{"a":["b'
    yield "behind", b'{"a":1} x'
    yield "bad-utf-8", b'{"a":"\xc3("}'
    yield "zero", b'{"a":"\\u0000"}'
    yield "blanks", b' \t\r\n [ 1 , 2 ] \n'
    yield "many", json.dumps({f"k{i}": i for i in range(70)}).encode()


def offload_seeds():
    def index(**entries):
        return json.dumps(entries, indent=2).encode()
    whole = {"dtype": "float32", "shape": [2]}
    held = {"safetensors_file": "s.safetensors", "weight_name": "a", "dtype": "float32"}
    yield "whole", index(a=whole, empty={"dtype": "int8", "shape": [0, 4]}, b={"dtype": "bfloat16", "shape": [4]})
    yield "scalar", index(a={"dtype": "float64", "shape": []})
    yield "held", index(b=held, a={"safetensors_file": "s.safetensors"})
    yield "converted", index(b={**held, "dtype": "float16"}, c={**held, "dtype": "int64"})
    yield "bits", index(q={**held, "weight_name": "q"})
    yield "lost", index(b={**held, "weight_name": "z"}, c={**held, "safetensors_file": "t.safetensors"})
    yield "cut", index(a={"dtype": "float32", "shape": [3]})
    yield "huge", index(a={"dtype": "float32", "shape": [2**40, 2**40]}, b={"dtype": "int8", "shape": [2**62]})
    yield "negative", index(a={"dtype": "float32", "shape": [-1]}, b={"dtype": "float32", "shape": [1.5]})
    yield "ranks", index(a={"dtype": "int8", "shape": [1] * 65}, b={"dtype": "int8", "shape": [1] * 64})
    yield "dtypes", index(a={"dtype": "complex64", "shape": [1]}, b={"shape": [1]}, c={"dtype": 3, "shape": [1]},
                          d={"dtype": "float8_e4m3fn", "shape": [8]})
    yield "names", json.dumps({"../a": whole, "": whole, "a\u001b[31m": whole, "\n": whole, ".": whole, "a/b": held}).encode()
    yield "kinds", b'{"a":1,"b":[],"c":null,"d":{"dtype":"float32","shape":{}},"e":{"safetensors_file":1},"f":{"weight_name":2,"safetensors_file":"s.safetensors"}}'
    yield "text-of-files", json.dumps({"a": {"safetensors_file": "\u001b]0;x\u0007\n", "weight_name": "\r"}}).encode()
    yield "list", b"[]"
    yield "deep", b'{"a":' + b"[" * 80
    yield "twice", b'{"a":{"dtype":"float32","shape":[2]},"a":{"dtype":"float32","shape":[2]}}'


def record_seeds():
    run = {"type": "run", "schema": {"name": "assay-record", "major": 1, "minor": 4}, "run_id": "r1", "started": "2026-01-01T00:00:00Z",
           "tool": {"name": "assay", "version": "0.1.0", "revision": None},
           "suite": {"name": "t", "path": "t", "plan_hash": "0", "case_count": 2, "selected_count": 2}}
    stage = {"requested_bytes": 4, "requested_bytes_peak": 4, "allocated_bytes": 512, "allocated_bytes_peak": 512,
             "reserved_bytes": 2097152, "reserved_bytes_peak": 2097152, "device_bytes": None, "process_bytes": 7,
             "process_bytes_peak": None, "seconds": 0.1, "categories_at_peak": {"weights": 4}}
    case = {"type": "case", "id": "m/infer", "identity": {"model": "m", "mode": "infer", "precision": "float32", "batch": 1, "seq": 8,
                                                         "attention": "sdpa", "optimizer": None, "checkpointing": None,
                                                         "accumulate": None, "logits": "all", "head": "lm"},
            "status": "ok", "reason": None, "attempt": 1, "duration_s": 0.25, "device": None, "stages": {"load": stage, "forward": stage},
            "context": None, "allocated_bytes_peak": 512, "peak_stage": "load", "categories_at_peak": {"weights": 4}, "causes": None,
            "saved_for_backward_bytes": None, "loss": None, "sequence_hash": "00ff", "oom": None,
            "estimates": {"replay": {"allocated_bytes_peak": 510}},
            "verdicts": [{"estimator": "replay", "quantity": "allocated_bytes_peak", "predicted": 510, "measured": 512,
                          "signed_error_bytes": -2, "signed_error": -0.0039, "tolerance": {"bytes": 0}, "pass": False}]}
    end = {"type": "end", "finished": "2026-01-01T00:00:01Z", "interrupted": False, "counts": {"ok": 2}, "outcome": "pass"}
    selected = {"type": "selected", "ids": ["m/infer", "m/load"], "attempts": [1, 1]}
    words = [json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in (run, selected, case, end)]
    yield "whole", b"".join(words)
    yield "killed", words[0] + words[1] + words[2]
    yield "cut", words[0] + words[2] + words[2][:90]
    yield "cut-first", words[0][:60]
    yield "tail", words[2][200:] + words[3]
    yield "joined", words[0] + words[2][:-1] + words[0] + words[2]
    yield "joined-cut", words[0] + words[2][:90] + words[0] + words[2]
    yield "mark", b"\xef\xbb\xbf" + words[0] + words[2]
    yield "twice", b"".join(words) * 2
    yield "older", b"".join(words[i] for i in (0, 2, 3))
    yield "failing", words[0] + words[2].replace(b'"ok"', b'"fail"').replace(b'"reason":null', b'"reason":"a \\u001b[31m b"')
    yield "oom", words[0] + words[2].replace(b'"ok"', b'"oom"').replace(
        b'"oom":null', b'"oom":{"wanted_bytes":1,"free_bytes":null,"held_bytes":2,"stage":"load","label":"w"}')
    place = {"place": "0", "spec": "host", "budget_bytes": 9, "placed_bytes": 4, "kept_bytes": 2, "needed_bytes": 3,
             "stages": {"load": stage}, "estimates": {"replay": {"allocated_bytes_peak": 5, "stages": {"load": stage}},
                                                      "accelerate": {"total_bytes": 6}}}
    placed = dict(case, places=[place, dict(place, place="cpu")],
                  transfers=[{"from": "cpu", "to": "0", "count": 1, "bytes": 2097152, "seconds": 0.5, "plain_bytes": 2097152,
                              "plain_seconds": 0.25, "plain": "copy"}],
                  placement={"strategy": "exact", "map": {"": "0"}, "raised": None, "accelerate_runs": False},
                  verdicts=[dict(case["verdicts"][0], place="cpu")])
    attempt = {"batch": 8, "ended": "refused", "cause": "device", "recognised": True, "stage": "load", "label": "w",
               "wanted_bytes": 7, "predicted_runs": True, "seconds": 0.1, "next": 4}
    search = dict(case, search={"policy": "halve", "start": 8, "end": "found", "found": 4, "predicted": 5, "error": None,
                                "tries": [attempt, dict(attempt, batch=4, ended="ran", next=None)], "per_second": 2.5,
                                "unit": "tokens", "best_per_second": None, "duration_s": 1.5, "pass": False})
    for name, line in (("placed", placed), ("search", search)):
        yield name, words[0] + json.dumps(line, separators=(",", ":")).encode() + b"\n" + words[3]
    yield "gzip", b"\x1f\x8b\x08\x00"
    yield "suite", b"version: 1\nname: a\n"
    yield "document", b'{\n  "runs": []\n}\n'
    yield "newer", words[0].replace(b'"major":1', b'"major":2')


def pickle_seeds():
    entry = {"action": "alloc", "addr": 2**40, "size": 512, "stream": 0, "pool_id": (0, 0), "frames": []}
    snapshot = {"segments": [], "device_traces": [[entry, dict(entry, action="free_completed")]]}
    for protocol in range(2, 6):
        yield f"snapshot-{protocol}", pickle.dumps(snapshot, protocol)
    yield "shared", pickle.dumps([entry, entry, (entry,)], 4)
    yield "numbers", pickle.dumps([0, -1, 256, 2**31, -2**63, 0.5, None, True, b"x", {1: frozenset([2])}, {3}], 4)
    yield "beyond", pickle.dumps(2**64, 4)
    yield "calls", pickle.dumps(Path("x"), 4)
    yield "recursive", b"\x80\x02]q\x00h\x00a."
    yield "doubled", b"\x80\x02" + b"".join(b"(Nth\x00h\x00t\x94"[i == 0:] for i in range(2)) + b"."
    yield "deep", b"\x80\x02" + b"]" * 90 + b"a" * 89 + b"."
    yield "long", b"\x80\x04\x8d" + b"\xff" * 8 + b"a."


def main():
    root = Path(__file__).resolve().parent.parent.parent
    for kind, seeds in (("safetensors", safetensors_seeds()), ("safetensors", told_seeds()), ("gguf", gguf_seeds()), ("config", config_seeds(root)),
                        ("yaml", yaml_seeds()), ("json_scan", json_seeds()), ("records", record_seeds()), ("pickle", pickle_seeds()),
                        ("offload", offload_seeds())):
        folder = Path(sys.argv[1]) / kind
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in seeds:
            (folder / f"seed-{name}").write_bytes(data if isinstance(data, bytes) else data.encode())


main()
