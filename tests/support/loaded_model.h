// A GGUF in memory as configuration and packed weights, for tests of the layers below run/.
#pragma once

#include <span>
#include <utility>

#include "engine/kernels/registry.h"
#include "engine/load/config.h"
#include "engine/load/gguf.h"
#include "engine/nn/weights.h"

namespace bitwin::testing {

struct LoadedModel : GgufSink {
  ModelConfig config;
  Weights weights;
  WeightsBuilder builder{*supported_kernels().front(), nullptr};

  Status on_header(GgufMetadata& metadata, std::span<const TensorInfo> tensors) override {
    BITWIN_ASSIGN_OR_RETURN(config, read_config(metadata, tensors));
    return builder.plan(config, tensors);
  }
  Status on_rows(const TensorInfo& tensor, int64_t first_row, int64_t rows, std::span<const uint8_t> bytes) override {
    return builder.add_rows(tensor, first_row, rows, bytes);
  }
  Status on_tensor_end(const TensorInfo&) override { return Status(); }

  Status load(std::span<const uint8_t> bytes) {
    GgufReader reader(*this, bytes.size());
    BITWIN_RETURN_IF_ERROR(reader.feed(bytes));
    BITWIN_RETURN_IF_ERROR(reader.finish());
    BITWIN_ASSIGN_OR_RETURN(weights, builder.finish());
    return Status();
  }
};

}  // namespace bitwin::testing
