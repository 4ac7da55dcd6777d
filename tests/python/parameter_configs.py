"""Configurations of models: published ones, and random ones of every family."""

#: Families whose parameters are counted, by `model_type`.
FAMILIES = """
llama mistral ministral3 mixtral qwen2 qwen2_moe qwen3 qwen3_moe qwen3_next qwen3_5_text qwen3_5_moe_text deepseek_v2
deepseek_v3 deepseek_v32 glm4_moe_lite gpt_oss llama4_text gemma gemma2 gemma3_text gemma3n_text gemma4_text phi phi3
phimoe mamba mamba2 falcon_mamba falcon gpt2 gpt_neo gpt_neox gptj gpt_bigcode codegen opt bloom mpt olmo olmo2 olmo3
olmoe flex_olmo starcoder2 cohere cohere2 glm glm4 glm4_moe granite granitemoe granitemoeshared granitemoehybrid jamba
bamba falcon_h1 nemotron nemotron_h stablelm persimmon exaone4 smollm3 hunyuan_v1_dense ernie4_5
ernie4_5_moe minimax minimax_m2 seed_oss lfm2 arcee helium apertus dots1 solar_open bitnet
bert roberta xlm-roberta camembert distilbert electra albert deberta-v2 modernbert t5 mt5 bart mbart vit dinov2 clip
siglip whisper
gemma3 llava llava_next mistral3 qwen2_vl qwen2_5_vl qwen3_vl qwen3_vl_moe qwen3_5 qwen3_5_moe llama4 mllama paligemma
idefics3 smolvlm internvl
zamba2 kimi_linear gemma3n qwen2_5_omni qwen2_5_omni_thinker qwen3_omni_moe qwen3_omni_moe_thinker
vaultgemma cwm exaone_moe hunyuan_v1_moe lfm2_moe
""".split()


def decoder(model_type, hidden, layers, heads, kv, ffn, vocab, tied=False, **more):
    fields = {
        "model_type": model_type,
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "intermediate_size": ffn,
        "vocab_size": vocab,
        "tie_word_embeddings": tied,
    }
    return {**fields, **more}


def moe(experts, ffn, active, **more):
    return {"num_experts": experts, "moe_intermediate_size": ffn, "num_experts_per_tok": active, **more}


def mla(q, kv, nope, rope, value):
    return {
        "q_lora_rank": q,
        "kv_lora_rank": kv,
        "qk_nope_head_dim": nope,
        "qk_rope_head_dim": rope,
        "v_head_dim": value,
    }


def zamba(heads, groups, blocks, layers, hybrid):
    kinds = ["hybrid" if at in hybrid else "mamba" for at in range(layers)]
    return {"n_mamba_heads": heads, "mamba_ngroups": groups, "num_mem_blocks": blocks, "layers_block_type": kinds}


#: What Qwen's models that speak think with.
OMNI = {
    "model_type": "qwen2_5_omni_thinker",
    "text_config": decoder("qwen2_5_omni_text", 3584, 28, 28, 4, 18944, 152064),
    "vision_config": {"model_type": "qwen2_5_omni_vision_encoder", "hidden_size": 1280, "out_hidden_size": 3584},
    "audio_config": {"model_type": "qwen2_5_omni_audio_encoder", "output_dim": 3584},
}
OMNI_MOE = {
    "model_type": "qwen3_omni_moe_thinker",
    "text_config": decoder("qwen3_omni_moe_text", 2048, 48, 32, 4, 768, 152064, head_dim=128, **moe(128, 768, 8)),
    "vision_config": {"model_type": "qwen3_omni_moe_vision_encoder", "out_hidden_size": 2048},
    "audio_config": {"model_type": "qwen3_omni_moe_audio_encoder", "output_dim": 2048},
}

#: As on their pages, as far as the fields are about parameters.
PUBLISHED = [
    ("Llama-2-7B", decoder("llama", 4096, 32, 32, 32, 11008, 32000)),
    ("Llama-2-70B", decoder("llama", 8192, 80, 64, 8, 28672, 32000)),
    ("Llama-3.1-8B", decoder("llama", 4096, 32, 32, 8, 14336, 128256)),
    ("Llama-3.2-1B", decoder("llama", 2048, 16, 32, 8, 8192, 128256, True, head_dim=64)),
    ("Llama-3.1-405B", decoder("llama", 16384, 126, 128, 8, 53248, 128256)),
    ("Mistral-7B-v0.1", decoder("mistral", 4096, 32, 32, 8, 14336, 32000, sliding_window=4096)),
    ("Mistral-Nemo", decoder("mistral", 5120, 40, 32, 8, 14336, 131072, head_dim=128)),
    ("Mixtral-8x7B", decoder("mixtral", 4096, 32, 32, 8, 14336, 32000, num_local_experts=8, num_experts_per_tok=2)),
    ("Mixtral-8x22B", decoder("mixtral", 6144, 56, 48, 8, 16384, 32768, num_local_experts=8, num_experts_per_tok=2)),
    ("Qwen2.5-0.5B", decoder("qwen2", 896, 24, 14, 2, 4864, 151936, True)),
    ("Qwen2.5-7B", decoder("qwen2", 3584, 28, 28, 4, 18944, 152064)),
    ("Qwen2.5-72B", decoder("qwen2", 8192, 80, 64, 8, 29568, 152064)),
    ("Qwen1.5-MoE-A2.7B", decoder("qwen2_moe", 2048, 24, 16, 16, 5632, 151936, **moe(60, 1408, 4), shared_expert_intermediate_size=5632)),
    ("Qwen3-0.6B", decoder("qwen3", 1024, 28, 16, 8, 3072, 151936, True, head_dim=128)),
    ("Qwen3-32B", decoder("qwen3", 5120, 64, 64, 8, 25600, 151936, head_dim=128)),
    ("Qwen3-30B-A3B", decoder("qwen3_moe", 2048, 48, 32, 4, 6144, 151936, head_dim=128, **moe(128, 768, 8), decoder_sparse_step=1, mlp_only_layers=[])),
    ("Qwen3-235B-A22B", decoder("qwen3_moe", 4096, 94, 64, 4, 12288, 151936, head_dim=128, **moe(128, 1536, 8))),
    ("Qwen3-Next-80B-A3B", decoder("qwen3_next", 2048, 48, 16, 2, 5120, 151936, head_dim=256, **moe(512, 512, 10), shared_expert_intermediate_size=512, full_attention_interval=4, linear_conv_kernel_dim=4, linear_key_head_dim=128, linear_num_key_heads=16, linear_num_value_heads=32, linear_value_head_dim=128)),
    ("DeepSeek-V2-Lite", decoder("deepseek_v2", 2048, 27, 16, 16, 10944, 102400, **mla(None, 512, 128, 64, 128), n_routed_experts=64, n_shared_experts=2, moe_intermediate_size=1408, first_k_dense_replace=1, num_experts_per_tok=6, moe_layer_freq=1)),
    ("DeepSeek-V2", decoder("deepseek_v2", 5120, 60, 128, 128, 12288, 102400, **mla(1536, 512, 128, 64, 128), n_routed_experts=160, n_shared_experts=2, moe_intermediate_size=1536, first_k_dense_replace=1, num_experts_per_tok=6)),
    ("DeepSeek-V3", decoder("deepseek_v3", 7168, 61, 128, 128, 18432, 129280, **mla(1536, 512, 128, 64, 128), n_routed_experts=256, n_shared_experts=1, moe_intermediate_size=2048, first_k_dense_replace=3, num_experts_per_tok=8, num_nextn_predict_layers=1)),
    ("Moonlight-16B-A3B", decoder("deepseek_v3", 2048, 27, 16, 16, 11264, 163840, **mla(None, 512, 128, 64, 128), n_routed_experts=64, n_shared_experts=2, moe_intermediate_size=1408, first_k_dense_replace=1, num_experts_per_tok=6)),
    ("gpt-oss-20b", decoder("gpt_oss", 2880, 24, 64, 8, 2880, 201088, head_dim=64, num_local_experts=32, num_experts_per_tok=4, sliding_window=128, attention_bias=True)),
    ("gpt-oss-120b", decoder("gpt_oss", 2880, 36, 64, 8, 2880, 201088, head_dim=64, num_local_experts=128, num_experts_per_tok=4, sliding_window=128, attention_bias=True)),
    ("Llama-4-Scout, text", decoder("llama4_text", 5120, 48, 40, 8, 8192, 202048, intermediate_size_mlp=16384, head_dim=128, num_local_experts=16, interleave_moe_layer_step=1)),
    ("Llama-4-Maverick, text", decoder("llama4_text", 5120, 48, 40, 8, 8192, 202048, intermediate_size_mlp=16384, head_dim=128, num_local_experts=128, interleave_moe_layer_step=2)),
    ("Gemma-7B", decoder("gemma", 3072, 28, 16, 16, 24576, 256000, True, head_dim=256)),
    ("Gemma-2-27B", decoder("gemma2", 4608, 46, 32, 16, 36864, 256000, True, head_dim=128)),
    ("Gemma-3-1B", {"model_type": "gemma3_text", "hidden_size": 1152, "intermediate_size": 6912, "num_attention_heads": 4, "num_hidden_layers": 26, "num_key_value_heads": 1, "vocab_size": 262144, "head_dim": 256, "sliding_window": 512, "sliding_window_pattern": 6}),
    ("Gemma-3-4B", {"model_type": "gemma3", "text_config": {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 34, "sliding_window": 1024}, "vision_config": {"hidden_size": 1152, "image_size": 896, "intermediate_size": 4304, "model_type": "siglip_vision_model", "num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 14, "vision_use_head": False}}),
    ("Gemma-3-27B", {"model_type": "gemma3", "text_config": {"head_dim": 128, "hidden_size": 5376, "intermediate_size": 21504, "model_type": "gemma3_text", "num_attention_heads": 32, "num_hidden_layers": 62, "num_key_value_heads": 16, "sliding_window": 1024}, "vision_config": {"hidden_size": 1152, "image_size": 896, "intermediate_size": 4304, "model_type": "siglip_vision_model", "num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 14, "vision_use_head": False}}),
    ("Gemma-3n-E2B, text", decoder("gemma3n_text", 2048, 30, 8, 2, 8192, 262400, True, head_dim=256, num_kv_shared_layers=10, laurel_rank=64)),
    ("Phi-1.5", {"model_type": "phi", "hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 32, "num_hidden_layers": 24, "vocab_size": 51200, "tie_word_embeddings": False}),
    ("Phi-2", decoder("phi", 2560, 32, 32, 32, 10240, 51200)),
    ("Phi-3-mini", decoder("phi3", 3072, 32, 32, 32, 8192, 32064)),
    ("Phi-4", decoder("phi3", 5120, 40, 40, 10, 17920, 100352)),
    ("Phi-4-mini", decoder("phi3", 3072, 32, 24, 8, 8192, 200064, True)),
    ("Phi-3.5-MoE", decoder("phimoe", 4096, 32, 32, 8, 6400, 32064, attention_bias=True, lm_head_bias=True, num_local_experts=16, num_experts_per_tok=2)),
    ("Mamba-2.8B", {"model_type": "mamba", "hidden_size": 2560, "num_hidden_layers": 64, "state_size": 16, "vocab_size": 50280, "time_step_rank": 160, "intermediate_size": 5120}),
    ("Mamba-2-2.7B", {"model_type": "mamba2", "hidden_size": 2560, "num_hidden_layers": 64, "state_size": 128, "num_heads": 80, "head_dim": 64, "n_groups": 1, "vocab_size": 50288, "tie_word_embeddings": True}),
    ("Mamba-Codestral-7B", {"model_type": "mamba2", "hidden_size": 4096, "num_hidden_layers": 64, "state_size": 128, "num_heads": 128, "head_dim": 64, "n_groups": 8, "vocab_size": 32768, "tie_word_embeddings": False}),
    ("Falcon-7B", {"model_type": "falcon", "hidden_size": 4544, "num_attention_heads": 71, "num_hidden_layers": 32, "vocab_size": 65024, "multi_query": True, "parallel_attn": True, "new_decoder_architecture": False, "bias": False}),
    ("Falcon-40B", {"model_type": "falcon", "hidden_size": 8192, "num_attention_heads": 128, "num_hidden_layers": 60, "num_kv_heads": 8, "vocab_size": 65024, "new_decoder_architecture": True, "parallel_attn": True, "bias": False}),
    ("GPT-2", {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "vocab_size": 50257}),
    ("GPT-2 XL", {"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25, "n_positions": 1024, "vocab_size": 50257}),
    ("Pythia-1B", {"model_type": "gpt_neox", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 8, "intermediate_size": 8192, "vocab_size": 50304, "tie_word_embeddings": False}),
    ("GPT-J-6B", {"model_type": "gptj", "n_embd": 4096, "n_layer": 28, "n_head": 16, "vocab_size": 50400, "n_inner": None, "tie_word_embeddings": False}),
    ("StarCoder", {"model_type": "gpt_bigcode", "n_embd": 6144, "n_layer": 40, "n_head": 48, "n_inner": 24576, "n_positions": 8192, "vocab_size": 49152, "multi_query": True}),
    ("OPT-125M", {"model_type": "opt", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "ffn_dim": 3072, "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 768}),
    ("OPT-350M", {"model_type": "opt", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "ffn_dim": 4096, "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 512, "do_layer_norm_before": False}),
    ("BLOOM-7B1", {"model_type": "bloom", "n_embed": 4096, "n_layer": 30, "num_attention_heads": 32, "vocab_size": 250880}),
    ("OLMo-2-13B", decoder("olmo2", 5120, 40, 40, 40, 13824, 100352)),
    ("OLMoE-1B-7B", decoder("olmoe", 2048, 16, 16, 16, 1024, 50304, num_experts=64, num_experts_per_tok=8)),
    ("StarCoder2-7B", decoder("starcoder2", 4608, 32, 36, 4, 18432, 49152, True, use_bias=True)),
    ("Command-R", decoder("cohere", 8192, 40, 64, 64, 22528, 256000, True, use_qk_norm=False)),
    ("Command-R+", decoder("cohere", 12288, 64, 96, 8, 33792, 256000, True, use_qk_norm=True)),
    ("Command-R7B", decoder("cohere2", 4096, 32, 32, 8, 14336, 256000, True)),
    ("GLM-4-9B", decoder("glm", 4096, 40, 32, 2, 13696, 151552, head_dim=128, attention_bias=True)),
    ("GLM-4-32B", decoder("glm4", 6144, 61, 48, 2, 23040, 151552, head_dim=128)),
    ("GLM-4.5-Air", decoder("glm4_moe", 4096, 46, 96, 8, 10944, 151552, head_dim=128, attention_bias=True, n_routed_experts=128, n_shared_experts=1, moe_intermediate_size=1408, first_k_dense_replace=1, num_experts_per_tok=8, use_qk_norm=False)),
    ("GLM-4.5", decoder("glm4_moe", 5120, 92, 96, 8, 12288, 151552, head_dim=128, attention_bias=True, n_routed_experts=160, n_shared_experts=1, moe_intermediate_size=1536, first_k_dense_replace=3, num_experts_per_tok=8, use_qk_norm=True)),
    ("Granite-3.1-8B", decoder("granite", 4096, 40, 32, 8, 12800, 49155, True)),
    ("Granite-3.1-3B-A800M", decoder("granitemoe", 1536, 32, 24, 8, 512, 49155, True, num_local_experts=40, num_experts_per_tok=8)),
    ("Granite-4.0-H-Small", decoder("granitemoehybrid", 4096, 40, 32, 8, 768, 100352, True, num_local_experts=72, num_experts_per_tok=10, shared_intermediate_size=1536, mamba_n_heads=128, mamba_d_head=64, mamba_d_state=128, mamba_n_groups=1, mamba_expand=2, layer_types=(["mamba"] * 5 + ["attention"] + ["mamba"] * 4) * 4)),
    ("Jamba-v0.1", decoder("jamba", 4096, 32, 32, 8, 14336, 65536, num_experts=16, num_experts_per_tok=2, attn_layer_period=8, attn_layer_offset=4, expert_layer_period=2, expert_layer_offset=1, mamba_d_state=16, mamba_dt_rank=256)),
    ("Bamba-9B", decoder("bamba", 4096, 32, 32, 8, 14336, 128256, attn_layer_indices=[9, 18, 27], mamba_n_heads=128, mamba_d_head=64, mamba_d_state=128, mamba_n_groups=1)),
    ("Falcon-H1-7B", decoder("falcon_h1", 3072, 44, 12, 2, 12288, 130049, head_dim=128, mamba_d_ssm=3072, mamba_n_heads=24, mamba_d_head=128, mamba_d_state=256, mamba_n_groups=1)),
    ("StableLM-2-1.6B", decoder("stablelm", 2048, 24, 32, 32, 5632, 100352, use_qkv_bias=True)),
    ("SmolLM3-3B", decoder("smollm3", 2048, 36, 16, 4, 11008, 128256, True)),
    ("MiniMax-M2", decoder("minimax_m2", 3072, 62, 48, 8, 1536, 200064, head_dim=128, num_local_experts=256, num_experts_per_tok=8)),
    ("BERT base", {"model_type": "bert", "architectures": ["BertForMaskedLM"], "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2}),
    ("BERT large, classifier", {"model_type": "bert", "architectures": ["BertForSequenceClassification"], "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096, "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2}),
    ("RoBERTa large", {"model_type": "roberta", "architectures": ["RobertaForMaskedLM"], "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096, "vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1}),
    ("XLM-R base", {"model_type": "xlm-roberta", "architectures": ["XLMRobertaForMaskedLM"], "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 250002, "max_position_embeddings": 514, "type_vocab_size": 1}),
    ("DeBERTa-v3 base", {"model_type": "deberta-v2", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 128100, "max_position_embeddings": 512, "type_vocab_size": 0, "relative_attention": True, "position_biased_input": False, "position_buckets": 256, "share_att_key": True, "norm_rel_ebd": "layer_norm", "pos_att_type": ["p2c", "c2p"], "architectures": ["DebertaV2Model"]}),
    ("ModernBERT base", {"model_type": "modernbert", "architectures": ["ModernBertForMaskedLM"], "hidden_size": 768, "num_hidden_layers": 22, "num_attention_heads": 12, "intermediate_size": 1152, "vocab_size": 50368}),
    ("T5 large", {"model_type": "t5", "d_model": 1024, "d_ff": 4096, "d_kv": 64, "num_heads": 16, "num_layers": 24, "vocab_size": 32128}),
    ("FLAN-T5 XL", {"model_type": "t5", "d_model": 2048, "d_ff": 5120, "d_kv": 64, "num_heads": 32, "num_layers": 24, "num_decoder_layers": 24, "vocab_size": 32128, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}),
    ("BART large", {"model_type": "bart", "d_model": 1024, "encoder_layers": 12, "decoder_layers": 12, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096, "encoder_attention_heads": 16, "decoder_attention_heads": 16, "max_position_embeddings": 1024, "vocab_size": 50265}),
    ("ViT-B/16", {"model_type": "vit", "architectures": ["ViTModel"], "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "image_size": 224, "patch_size": 16}),
    ("CLIP ViT-L/14", {"model_type": "clip", "projection_dim": 768, "text_config": {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12, "num_hidden_layers": 12, "model_type": "clip_text_model"}, "vision_config": {"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16, "num_hidden_layers": 24, "patch_size": 14, "model_type": "clip_vision_model"}}),
    ("Whisper large-v3", {"model_type": "whisper", "d_model": 1280, "encoder_layers": 32, "decoder_layers": 32, "encoder_attention_heads": 20, "decoder_attention_heads": 20, "encoder_ffn_dim": 5120, "decoder_ffn_dim": 5120, "num_mel_bins": 128, "vocab_size": 51866}),
    ("Qwen2.5-VL-7B", {"model_type": "qwen2_5_vl", "hidden_size": 3584, "intermediate_size": 18944, "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4, "vocab_size": 152064, "tie_word_embeddings": False, "vision_config": {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "out_hidden_size": 3584, "patch_size": 14}}),
    ("Qwen3-VL-8B", {"model_type": "qwen3_vl", "tie_word_embeddings": False, "text_config": decoder("qwen3_vl_text", 4096, 36, 32, 8, 12288, 151936, head_dim=128), "vision_config": {"model_type": "qwen3_vl", "depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "num_heads": 16, "out_hidden_size": 4096, "deepstack_visual_indexes": [8, 16, 24]}}),
    ("LLaVA-1.5-7B", {"model_type": "llava", "text_config": {"model_type": "llama", "vocab_size": 32064}, "vision_config": {"hidden_size": 1024, "image_size": 336, "intermediate_size": 4096, "model_type": "clip_vision_model", "num_attention_heads": 16, "num_hidden_layers": 24, "patch_size": 14, "projection_dim": 768}}),
    ("Mistral-Small-3.1-24B", {"model_type": "mistral3", "tie_word_embeddings": False, "text_config": decoder("mistral", 5120, 40, 32, 8, 32768, 131072, head_dim=128), "vision_config": {"model_type": "pixtral", "hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16, "num_hidden_layers": 24, "head_dim": 64, "patch_size": 14}}),
    ("Llama-3.2-11B-Vision", {"model_type": "mllama", "text_config": {"model_type": "mllama_text_model"}, "vision_config": {"model_type": "mllama_vision_model", "image_size": 560}}),
    ("Llama-4-Scout", {"model_type": "llama4", "text_config": decoder("llama4_text", 5120, 48, 40, 8, 8192, 202048, intermediate_size_mlp=16384, head_dim=128, num_local_experts=16, interleave_moe_layer_step=1), "vision_config": {"model_type": "llama4_vision_model", "hidden_size": 1408, "intermediate_size": 5632, "num_attention_heads": 16, "num_hidden_layers": 34, "image_size": 336, "patch_size": 14, "projector_input_dim": 4096, "projector_output_dim": 4096, "vision_output_dim": 4096}}),
    ("Zamba2-1.2B", decoder("zamba2", 2048, 38, 32, 32, 8192, 32000, True, **zamba(64, 1, 1, 38, [5, 11, 17, 23, 29, 35]), use_shared_attention_adapter=True)),
    ("Zamba2-7B", decoder("zamba2", 3584, 81, 32, 32, 14336, 32000, True, **zamba(112, 2, 2, 81, [6, 11, 17, 23, 29, 35, 41, 47, 53, 59, 65, 71, 77]))),
    ("Kimi-Linear-48B-A3B", decoder("kimi_linear", 2304, 27, 32, 32, 9216, 163840, **mla(None, 512, 128, 64, 128), num_experts=256, num_experts_per_token=8, num_shared_experts=1, moe_intermediate_size=1024, first_k_dense_replace=1, linear_attn_config={"full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "kda_layers": [at for at in range(1, 27) if at % 4], "head_dim": 128, "num_heads": 32, "short_conv_kernel_size": 4})),
    ("Gemma-3n-E2B", {"model_type": "gemma3n", "text_config": {"model_type": "gemma3n_text", "num_hidden_layers": 30, "intermediate_size": [8192] * 30, "num_kv_shared_layers": 10}, "vision_config": {"model_type": "gemma3n_vision", "architecture": "mobilenetv5_300m_enc", "model_args": None}, "audio_config": {"model_type": "gemma3n_audio"}}),
    ("Gemma-3n-E4B", {"model_type": "gemma3n", "text_config": {"model_type": "gemma3n_text", "num_hidden_layers": 35, "intermediate_size": [16384] * 35}, "vision_config": {"model_type": "gemma3n_vision"}, "audio_config": {"model_type": "gemma3n_audio"}}),
    ("Qwen2.5-Omni-7B", {"model_type": "qwen2_5_omni", "thinker_config": OMNI, "talker_config": {"model_type": "qwen2_5_omni_talker", "hidden_size": 896, "embedding_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 24, "num_attention_heads": 12, "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 8448}}),
    ("Qwen2.5-Omni-7B, thinker", OMNI),
    ("Qwen3-Omni-30B-A3B", {"model_type": "qwen3_omni_moe", "thinker_config": OMNI_MOE, "talker_config": {"spatial_merge_size": 2, "text_config": {"model_type": "qwen3_omni_moe_talker_text", "head_dim": 128, "shared_expert_intermediate_size": 768}, "code_predictor_config": {"model_type": "qwen3_omni_moe_talker_code_predictor", "num_code_groups": 16}}}),
    ("Qwen3-Omni-30B-A3B, thinker", {"model_type": "qwen3_omni_moe", "thinker_config": OMNI_MOE, "enable_audio_output": False}),
]


#: Flags that change what a family is made of.
FLAGS = """attention_bias mlp_bias use_bias tie_word_embeddings use_qk_norm qk_layernorm use_qkv_bias lm_head_bias bias
multi_query new_decoder_architecture parallel_attn no_bias learned_pos_emb use_conv_bias mamba_conv_bias mamba_proj_bias
qkv_bias vision_use_head use_parallel_residual norm_bias decoder_bias word_embeddings_layernorm attention_out_bias
mamba_rms_norm projectors_bias add_bias_linear use_shared_attention_adapter conv_bias enable_bias do_layer_norm_before
attention_k_eq_v use_double_wide_mlp multimodal_projector_bias use_head""".split()


def vary(family, dice):
    """A small configuration of `family` with dimensions drawn from `dice`."""
    config = {"model_type": family}
    config.update(composite(family, dice) or one(family, dice))
    for part in (config, config.get("text_config")):
        if part and family not in ("clip", "siglip"):
            part["pad_token_id"] = 0
    return config


def one(family, dice):
    from transformers import CONFIG_MAPPING
    import dataclasses

    known = {field.name: field for field in dataclasses.fields(CONFIG_MAPPING[family])}
    heads = dice.choice([4, 8, 12])
    kv = dice.choice([k for k in (1, 2, 4) if heads % k == 0])
    head = dice.choice([16, 32, 64])
    hidden = heads * dice.choice([16, 32, 48])
    layers = dice.randint(3, 9)
    ffn = dice.randrange(64, 900, 4)
    few = dice.randint(2, 9)
    drawn = {
        "hidden_size": hidden, "n_embd": hidden, "d_model": hidden, "dim": hidden, "n_embed": hidden,
        "num_hidden_layers": layers, "n_layer": layers, "num_layers": layers, "n_layers": layers,
        "encoder_layers": layers, "decoder_layers": dice.randint(2, 6), "num_decoder_layers": dice.randint(2, 6),
        "num_attention_heads": heads, "n_head": heads, "num_heads": heads, "n_heads": heads,
        "encoder_attention_heads": heads, "decoder_attention_heads": heads,
        "num_key_value_heads": kv, "num_kv_heads": kv, "head_dim": head, "d_kv": head,
        "intermediate_size": ffn, "ffn_dim": ffn, "n_inner": ffn, "d_ff": ffn, "encoder_ffn_dim": ffn, "hidden_dim": ffn,
        "decoder_ffn_dim": ffn + 8, "ffn_hidden_size": ffn, "vocab_size": dice.randint(500, 3000),
        "max_position_embeddings": 128, "n_positions": 96, "type_vocab_size": dice.choice([1, 2]),
        "moe_intermediate_size": dice.randrange(16, 128, 4), "num_experts": few, "num_local_experts": few,
        "n_routed_experts": few, "n_shared_experts": dice.choice([1, 2]), "num_experts_per_tok": 2,
        "moe_num_experts": few, "moe_k": 2, "moe_num_shared_experts": dice.choice([1, 2]), "num_shared_experts": 1,
        "shared_expert_intermediate_size": dice.randrange(16, 128, 4), "shared_intermediate_size": dice.randrange(16, 128, 4),
        "first_k_dense_replace": dice.choice([0, 1, 2]), "decoder_sparse_step": dice.choice([1, 2]), "n_group": 1, "topk_group": 1,
        "q_lora_rank": 48 if family == "deepseek_v32" else dice.choice([None, 48]), "kv_lora_rank": 32, "qk_nope_head_dim": 24, "qk_rope_head_dim": 8, "v_head_dim": 16,
        "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 16, "linear_value_head_dim": dice.choice([16, 24]),
        "linear_conv_kernel_dim": dice.choice([2, 4]), "intermediate_size_mlp": ffn + 16, "interleave_moe_layer_step": dice.choice([1, 2]),
        "laurel_rank": 8, "num_kv_shared_layers": dice.choice([0, 2]), "hidden_size_per_layer_input": 16,
        "vocab_size_per_layer_input": 400, "global_head_dim": 48, "num_global_key_value_heads": 2,
        "state_size": dice.choice([8, 16]), "ssm_state_size": 16, "conv_kernel": dice.choice([3, 4]), "expand": 2, "n_groups": dice.choice([1, 2]),
        "mamba_d_state": dice.choice([8, 16]), "mamba_d_conv": dice.choice([3, 4]), "mamba_expand": 2, "mamba_n_groups": dice.choice([1, 2]), "mamba_dt_rank": 12,
        "time_step_rank": 12, "expert_layer_period": 2, "expert_layer_offset": 1, "attn_layer_period": 3, "attn_layer_offset": 1,
        "word_embed_proj_dim": hidden, "embedding_size": dice.choice([24, hidden]), "expansion_ratio": dice.choice([2, 4]),
        "image_size": 64, "patch_size": dice.choice([8, 16]), "num_mel_bins": dice.choice([16, 24]), "max_source_positions": 50,
        "max_target_positions": 40, "relative_attention_num_buckets": 16, "index_n_heads": 4, "index_head_dim": 16, "index_topk": 4,
        "mlp_ratio": dice.choice([2, 4]), "attention_window_size": 8, "sliding_window": 64, "indexer": 4,
    }
    config = {name: value for name, value in drawn.items() if name in known}
    if family in ("mamba2", "nemotron_h"):
        config.update({"hidden_size": 128, "num_heads": 8, "head_dim": 32} if family == "mamba2" else {
            "mamba_num_heads": 8, "mamba_head_dim": 16, "moe_shared_expert_intermediate_size": 44,
            "layers_block_type": [dice.choice(["mamba", "moe", "attention", "mlp"]) for _ in range(layers)]})
        if family == "nemotron_h":
            config.pop("num_hidden_layers", None)
    if family in ("bamba", "granitemoehybrid", "falcon_h1"):
        config.update({"mamba_n_heads": 8, "mamba_d_head": hidden // 4})
    if family == "bamba":
        config["attn_layer_indices"] = dice.choice([[1], [0, 2]])
    if family == "granitemoehybrid":
        config["layer_types"] = [dice.choice(["mamba", "attention"]) for _ in range(layers)]
        config["num_local_experts"] = dice.choice([0, 4])
    if family == "falcon_h1":
        config["mamba_d_ssm"] = dice.choice([None, 64])
        if config["mamba_d_ssm"]:
            config["mamba_d_head"] = 8
    if family == "mamba":
        config.pop("intermediate_size", None)
    if family in ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text", "minimax"):
        config["layer_types"] = [dice.choice(["linear_attention", "full_attention"]) for _ in range(layers)]
    if family == "qwen3_moe":
        config["num_experts"] = few
        config.pop("num_local_experts", None)
        config["mlp_only_layers"] = dice.choice([[], [1]])
    if family == "opt" and dice.random() < 0.5:
        config["word_embed_proj_dim"] = hidden // 2
    if family == "falcon":
        config["num_kv_heads"] = kv
        config["alibi"] = False
    if family == "lfm2":
        config["block_auto_adjust_ff_dim"] = dice.choice([True, False])
        config["block_multiple_of"] = 32
        config["full_attn_idxs"] = [0, 2]
    if family in ("gemma3n_text", "gemma4_text"):
        config["num_hidden_layers"] = 8
        config["layer_types"] = ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"] * 2
        if family == "gemma3n_text":
            config["intermediate_size"] = [ffn] * 8
            config["activation_sparsity_pattern"] = [0.0] * 8
            config["vocab_size_per_layer_input"] = 300
        else:
            config["enable_moe_block"] = dice.choice([False, True])
            config["top_k_experts"] = 2
    if family in ("hunyuan_v1_dense", "hunyuan_v1_moe", "nemotron", "dots1", "ministral3"):
        config["head_dim"] = head
    if family == "lfm2_moe":
        config["layer_types"] = [dice.choice(["conv", "full_attention"]) for _ in range(layers)]
        config["num_dense_layers"] = dice.choice([0, 1, 2])
    if family == "exaone_moe":
        config["mlp_layer_types"] = [dice.choice(["dense", "sparse"]) for _ in range(layers)]
    if family == "zamba2":
        config.update({"n_mamba_heads": 4, "mamba_ngroups": dice.choice([1, 2]), "num_mem_blocks": dice.choice([1, 2, 3]),
                       "adapter_rank": 12, "layers_block_type": ["hybrid"] + [dice.choice(["mamba", "hybrid"]) for _ in range(layers - 1)]})
    if family == "kimi_linear":
        listed = dice.choice([True, False])
        full = [at for at in range(1, layers + 1) if at % 3 == 0]
        config.update({"linear_attn_config": {"full_attn_layers": full, "kda_layers": [at for at in range(1, layers + 1) if at % 3],
                       "head_dim": 24, "num_heads": 3, "short_conv_kernel_size": 3}} if listed else {
                       "linear_head_dim": 20, "linear_num_heads": 5, "layer_types": [dice.choice(["linear_attention", "full_attention"]) for _ in range(layers)]})
    if family == "distilbert":
        config.pop("hidden_size", None)
    if family in ("t5", "mt5"):
        config["feed_forward_proj"] = dice.choice(["relu", "gated-gelu"])
        if dice.random() < 0.5:
            config["is_gated_act"] = dice.choice([False, True])
    if family == "deberta-v2":
        config.update({"relative_attention": dice.choice([True, False]), "position_buckets": 16, "max_relative_positions": -1,
                       "pos_att_type": ["p2c", "c2p"], "norm_rel_ebd": dice.choice(["layer_norm", "none"]),
                       "share_att_key": dice.choice([True, False]), "type_vocab_size": dice.choice([0, 2])})
        config["position_biased_input"] = dice.choice([True, False])
    if family == "dinov2":
        config["use_swiglu_ffn"] = dice.choice([True, False])
    if family in ("vit",) and dice.random() < 0.5:
        config["num_labels"] = 10
        config["architectures"] = ["ViTForImageClassification"]
    if family == "bert" and dice.random() < 0.7:
        config["architectures"] = [dice.choice(["BertModel", "BertForSequenceClassification", "BertForTokenClassification", "BertForMaskedLM"])]
    if family == "roberta" and dice.random() < 0.7:
        config["architectures"] = [dice.choice(["RobertaModel", "RobertaForSequenceClassification", "RobertaForMaskedLM"])]
    if family == "gpt_neo":
        config["attention_types"] = [[["global"], config["num_layers"]]]
    if family == "mpt":
        config.update({"n_heads": heads, "max_seq_len": 64})
    if family == "exaone4":
        config["sliding_window_pattern"] = 2
    if family == "helium":
        config["head_dim"] = dice.choice([hidden // heads, head])
    if family == "llama4_text" and dice.random() < 0.5:
        config.pop("intermediate_size_mlp")
    if family in ("persimmon", "llama"):
        config.pop("head_dim", None)
    for name in FLAGS:
        if name in known and name not in config:
            config[name] = dice.random() < 0.5
    if family == "mpt":
        config["no_bias"] = True
    if family in ("opt",):
        config.pop("enable_bias", None)
    if family in ("cohere2",):
        config.pop("use_qk_norm", None)
    return config


def composite(family, dice):
    """Configurations of several parts."""
    heads = dice.choice([4, 8])
    hidden = heads * 16
    vision = {"hidden_size": hidden, "intermediate_size": dice.randrange(64, 256, 8), "num_hidden_layers": dice.randint(2, 5),
              "num_attention_heads": heads, "image_size": 64, "patch_size": dice.choice([8, 16])}

    def text(kind):
        part = one(kind, dice)
        return {**part, "model_type": kind}

    if family in ("clip", "siglip"):
        words = {"hidden_size": hidden, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": heads, "vocab_size": 700, "max_position_embeddings": 33}
        more = {"vision_use_head": dice.choice([True, False])} if family == "siglip" else {}
        config = {"text_config": {**words, "model_type": family + "_text_model"}, "vision_config": {**vision, **more, "model_type": family + "_vision_model"}}
        if family == "clip":
            config["projection_dim"] = 40
        return config
    siglip = {**vision, "model_type": "siglip_vision_model", "vision_use_head": dice.choice([True, False])}
    clip = {**vision, "model_type": "clip_vision_model"}
    tied = dice.choice([True, False])
    if family == "gemma3":
        return {"text_config": text("gemma3_text"), "vision_config": siglip}
    if family == "paligemma":
        return {"text_config": text("gemma"), "vision_config": siglip, "projection_dim": 72}
    if family in ("llava", "llava_next"):
        return {"text_config": text(dice.choice(["llama", "mistral", "qwen2"])), "vision_config": dice.choice([clip, siglip]),
                "multimodal_projector_bias": dice.choice([True, False]), "tie_word_embeddings": tied}
    if family == "mistral3":
        return {"text_config": text("mistral"), "vision_config": {**vision, "model_type": "pixtral", "head_dim": 16},
                "multimodal_projector_bias": dice.choice([True, False]), "tie_word_embeddings": tied}
    if family in ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe"):
        base = {"qwen2_vl": "qwen2", "qwen2_5_vl": "qwen2", "qwen3_vl": "qwen3", "qwen3_vl_moe": "qwen3_moe"}.get(family)
        part = text(base or family + "_text")
        part.pop("tie_word_embeddings", None)
        part["model_type"] = family + "_text"
        eyes = {"depth": dice.randint(2, 5), "hidden_size": hidden, "intermediate_size": 96, "num_heads": 4, "patch_size": 8,
                "out_hidden_size": part["hidden_size"], "num_position_embeddings": 64}
        if family == "qwen2_vl":
            eyes = {"depth": dice.randint(2, 5), "embed_dim": hidden, "hidden_size": part["hidden_size"], "num_heads": 4, "mlp_ratio": 3, "patch_size": 8}
        if family == "qwen3_vl" or family == "qwen3_vl_moe":
            eyes["deepstack_visual_indexes"] = [0, 1]
        return {"text_config": part, "vision_config": eyes, "tie_word_embeddings": tied}
    if family == "gemma3n":
        ears = {"model_type": "gemma3n_audio", "hidden_size": hidden, "conf_num_attention_heads": heads, "conf_num_hidden_layers": dice.randint(1, 4),
                "input_feat_size": dice.choice([40, 64]), "conf_conv_kernel_size": dice.choice([3, 5]), "vocab_size": 60,
                "sscp_conv_channel_size": [dice.choice([8, 12]), 6], "sscp_conv_kernel_size": [[3, 3], [3, dice.choice([3, 5])]]}
        return {"text_config": text("gemma3n_text"), "vision_config": {"model_type": "gemma3n_vision", "hidden_size": 96}, "audio_config": ears}
    if family in ("qwen2_5_omni_thinker", "qwen3_omni_moe_thinker"):
        return thinker(family, dice, tied)
    if family in ("qwen2_5_omni", "qwen3_omni_moe"):
        return speaker(family, dice, tied)
    if family == "llama4":
        part = text("llama4_text")
        return {"text_config": part, "vision_config": {**vision, "model_type": "llama4_vision_model", "projector_input_dim": 48,
                "projector_output_dim": 48, "vision_output_dim": 48, "intermediate_size": hidden * 4, "pixel_shuffle_ratio": 0.5}, "tie_word_embeddings": tied}
    if family == "mllama":
        return {"text_config": {"model_type": "mllama_text_model", "hidden_size": 128, "num_hidden_layers": 6, "num_attention_heads": 8,
                "num_key_value_heads": 2, "intermediate_size": 200, "vocab_size": 800, "cross_attention_layers": [1, 4], "tie_word_embeddings": tied},
                "vision_config": {"model_type": "mllama_vision_model", "hidden_size": 64, "num_hidden_layers": 5, "num_global_layers": 2,
                "attention_heads": 4, "intermediate_size": 100, "image_size": 56, "patch_size": 14, "vision_output_dim": 64 * 3,
                "intermediate_layers_indices": [1, 3], "max_num_tiles": 4}}
    if family in ("idefics3", "smolvlm"):
        return {"text_config": text("llama"), "vision_config": {**vision, "model_type": family + "_vision"}, "scale_factor": 2, "tie_word_embeddings": tied}
    if family == "internvl":
        return {"text_config": text("qwen2"), "vision_config": {**vision, "image_size": [64, 64], "patch_size": [8, 8], "model_type": "internvl_vision",
                "use_qk_norm": dice.choice([True, False]), "attention_bias": dice.choice([True, False])}, "tie_word_embeddings": tied}
    return None


def thinker(family, dice, tied):
    """A model that reads, sees and hears."""
    kind = family.removesuffix("_thinker")
    part = one(kind + "_text", dice)
    if family == "qwen2_5_omni_thinker":
        part.pop("tie_word_embeddings", None)
    eyes = {"depth": dice.randint(2, 5), "hidden_size": 64, "intermediate_size": 96, "num_heads": 4, "patch_size": 8,
            "out_hidden_size": part["hidden_size"]}
    ears = {"d_model": 48, "encoder_layers": dice.randint(1, 4), "encoder_attention_heads": 4, "encoder_ffn_dim": 72,
            "num_mel_bins": dice.choice([13, 80]), "output_dim": part["hidden_size"]}
    if kind == "qwen3_omni_moe":
        eyes.update({"num_position_embeddings": 64, "deepstack_visual_indexes": [0, 1]})
        ears["downsample_hidden_size"] = dice.choice([8, 12])
    return {"model_type": family, "text_config": {**part, "model_type": kind + "_text"}, "vision_config": {**eyes, "model_type": kind + "_vision_encoder"},
            "audio_config": {**ears, "model_type": kind + "_audio_encoder"}, "tie_word_embeddings": tied}


def speaker(family, dice, tied):
    """A model that also speaks."""
    config = {"thinker_config": thinker(family + "_thinker", dice, tied), "enable_audio_output": dice.random() < 0.8}
    if family == "qwen2_5_omni":
        talker = one("qwen2_5_omni_talker", dice)
        talker["embedding_size"] = dice.choice([40, talker["hidden_size"]])
        transformer = {"hidden_size": 64, "num_hidden_layers": dice.randint(1, 4), "num_attention_heads": 4, "head_dim": dice.choice([16, 24]), "ff_mult": 3,
                       "emb_dim": 20, "num_embeds": 50, "mel_dim": 16, "enc_emb_dim": 12, "enc_dim": 10, "enc_channels": [16, 24, 24, 24, 60],
                       "enc_attention_channels": 8, "enc_se_channels": 6, "enc_res2net_scale": dice.choice([2, 4])}
        if dice.random() < 0.5:
            transformer.update({"enc_channels": [16, 16, 40], "enc_kernel_sizes": [5, 3, 1], "enc_dilations": [1, 2, 1]})
        vocoder = {"mel_dim": 16, "upsample_initial_channel": 96, "resblock_kernel_sizes": [3, 5, 7], "upsample_rates": [5, 3, 2], "upsample_kernel_sizes": [11, 7, 4]}
        waves = {"dit_config": transformer, "bigvgan_config": vocoder}
        return {**config, "talker_config": talker, "token2wav_config": waves}
    words = one("qwen3_omni_moe_talker_text", dice)
    words.pop("tie_word_embeddings", None)
    words["shared_expert_intermediate_size"] = dice.choice([24, 56])
    codes = one("qwen3_omni_moe_talker_code_predictor", dice)
    codes.update({"tie_word_embeddings": False, "num_code_groups": dice.randint(2, 6)})
    waves = {"codebook_size": 30, "num_quantizers": 4, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": dice.choice([2, 4]),
             "intermediate_size": 88, "num_hidden_layers": dice.randint(1, 4), "decoder_dim": 96, "upsample_rates": [4, 3, 2],
             "upsampling_ratios": dice.choice([[2, 2], [3]]), "attention_bias": dice.choice([True, False])}
    return {**config, "talker_config": {"text_config": words, "code_predictor_config": codes, "thinker_hidden_size": 72, "spatial_merge_size": 2}, "code2wav_config": waves}
