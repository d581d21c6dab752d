"""What llm-analysis says of a pass without gradients, as JSON: the largest tensors of one layer, the logits.

    pip install --no-deps llm-analysis==0.2.2 && pip install fire
    python3 peers/estimators/passes.py > peers/estimators/passes.json

Without sequence parallelism, which it takes to be as wide as tensor parallelism unless it is told. Its grid is of
feed-forward parts that are a multiple of the hidden size, or any other as a ratio. tests/estimate/test_shares.c holds
ours (harness/estimate/llm_analysis.h) against it.
"""
import importlib.metadata
import json
import logging

from llm_analysis.analysis import LLMAnalysis
from llm_analysis.config import DtypeConfig, GPUConfig, ModelConfig, ParallelismConfig

MODELS = {"gpt2": (768, 12, 3072, 50257), "llama-2-7b": (4096, 32, 11008, 32000),
          "llama-3.1-8b": (4096, 32, 14336, 128256), "mistral-7b": (4096, 32, 14336, 32000)}
GPU = GPUConfig(name="any", mem_per_GPU_in_GB=1000, hbm_bandwidth_in_GB_per_sec=1000,
                intra_node_bandwidth_in_GB_per_sec=100, intra_node_min_message_latency=0, peak_fp16_TFLOPS=100)


def rows():
    for model, (hidden, heads, ffn, vocab) in MODELS.items():
        config = ModelConfig(name=model, num_layers=2, n_head=heads, hidden_dim=hidden, vocab_size=vocab,
                             max_seq_len=8192, num_key_value_heads=heads, expansion_ratio=ffn / hidden)
        for tensor, element_bytes, batch, tokens in ((1, 2, 1, 2048), (4, 2, 1, 2048), (2, 2, 4, 1024), (4, 4, 8, 512),
                                                     (1, 4, 1, 1), (2, 2, 16, 1)):
            bits = 8 * element_bytes
            asked = LLMAnalysis(config, GPU, DtypeConfig(name="case", weight_bits=bits, activation_bits=bits,
                                                         embedding_bits=bits),
                                ParallelismConfig(tp_size=tensor, sp_size=1))
            layer = [asked.get_activation_memory_per_layer(batch, tokens, is_inference=True, flash_attn=fused)
                     for fused in (True, False)]
            yield {"model": model, "hidden": hidden, "heads": heads, "ffn": ffn, "vocab": vocab, "tensor": tensor,
                   "element_bytes": element_bytes, "batch": batch, "tokens": tokens, "fused_bytes": int(layer[0]),
                   "scores_bytes": int(layer[1]),
                   "logits_bytes": int(asked.get_activation_memory_output_embedding(batch, tokens))}


def main():
    logging.disable(logging.CRITICAL)
    print(json.dumps({"llm-analysis": importlib.metadata.version("llm-analysis"), "rows": list(rows())}, indent=1))


if __name__ == "__main__":
    main()
