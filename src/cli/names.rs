//! The closed sets of names that commands take and tell.

use crate::domain::vocabulary;

vocabulary! {
    /// What is looked at.
    "check"
    pub enum Check {
        /// Whether its service lists the model.
        Models = "models",
        /// Whether it tells a right trace from a wrong one.
        Direction = "direction",
        /// Whether what it costs is known.
        Price = "price",
        /// Whether it reads as much as is declared.
        Needle = "needle",
    }
}

vocabulary! {
    /// What came of it.
    "result of a check"
    pub enum Grade {
        /// It is as it should be.
        Good = "good",
        /// It is not known, or does not apply.
        Unknown = "unknown",
        /// It is not as it should be.
        Bad = "bad",
    }
}

vocabulary! {
    /// The form of a result.
    "format"
    pub enum Format {
        /// For people.
        Text = "text",
        /// One JSON object a line.
        Json = "json",
    }
}

vocabulary! {
    /// Who serves judges.
    "provider"
    pub enum Provider {
        /// TypeSafe Jev.
        Jev = "jev",
        /// OpenRouter.
        OpenRouter = "openrouter",
        /// The AI Gateway of Vercel.
        Vercel = "vercel",
        /// Portkey.
        Portkey = "portkey",
        /// A LiteLLM proxy, also for Bedrock and Vertex.
        LiteLlm = "litellm",
        /// Cloudflare Workers AI.
        Cloudflare = "cloudflare",
        /// Laya, or another local server of its kind.
        Laya = "laya",
        /// Azure OpenAI.
        Azure = "azure",
        /// OpenAI.
        OpenAi = "openai",
        /// vLLM.
        Vllm = "vllm",
        /// Ollama.
        Ollama = "ollama",
        /// The server of llama.cpp.
        LlamaCpp = "llamacpp",
        /// Anthropic.
        Anthropic = "anthropic",
    }
}

vocabulary! {
    /// What there is a schema of.
    "schema"
    pub enum SchemaName {
        /// A row of a dataset, or of any file of traces.
        Dataset = "dataset",
        /// A recorded answer of a judge.
        Replay = "replay",
        /// A row that `diagnose` writes.
        Verdict = "verdict",
        /// A report of an evaluation.
        Report = "report",
        /// A judge on labelled data sets.
        Bench = "bench",
    }
}

vocabulary! {
    /// The modes of one evaluation.
    "mode"
    pub enum ModeChoice {
        /// The atomic judge and the policy.
        AtomicOnly = "atomic_only",
        /// The fallback judge alone.
        BaselineOnly = "baseline_only",
        /// The atomic judge, and the fallback judge where it is uncertain.
        Cascade = "cascade",
        /// All three.
        All = "all",
    }
}
