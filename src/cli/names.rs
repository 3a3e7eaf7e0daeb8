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
