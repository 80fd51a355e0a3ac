// A sink that keeps all that a GGUF reader hands out, and how.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/load/gguf.h"

namespace bitwin::testing {

class GgufCollector : public GgufSink {
 public:
  Status on_header(GgufMetadata& metadata, std::span<const TensorInfo> tensors) override {
    ++headers;
    entries = std::move(metadata.mutable_entries());
    directory.assign(tensors.begin(), tensors.end());
    return {};
  }

  Status on_rows(const TensorInfo& tensor, int64_t first_row, int64_t rows, std::span<const uint8_t> bytes) override {
    int64_t& next = next_row[tensor.name];
    const bool last = first_row + rows == tensor.rows();
    in_order = in_order && first_row == next && first_row % 16 == 0 && rows > 0 && (rows % 16 == 0 || last) &&
               bytes.size() * static_cast<uint64_t>(tensor.rows()) == tensor.bytes * static_cast<uint64_t>(rows);
    next += rows;
    std::vector<uint8_t>& data = rows_of[tensor.name];
    data.insert(data.end(), bytes.begin(), bytes.end());
    calls.push_back({tensor.name, rows, bytes.data()});
    return {};
  }

  Status on_tensor_end(const TensorInfo& tensor) override {
    in_order = in_order && next_row[tensor.name] == tensor.rows();
    ended.push_back(tensor.name);
    return {};
  }

  struct Call {
    std::string tensor;
    int64_t rows;
    const uint8_t* data;
  };
  int headers = 0;
  std::vector<GgufMetadata::Entry> entries;
  std::vector<TensorInfo> directory;
  std::map<std::string, std::vector<uint8_t>> rows_of;
  std::vector<std::string> ended;  // in the order of their ends
  std::vector<Call> calls;
  bool in_order = true;  // rows came as GgufSink promises

 private:
  std::map<std::string, int64_t> next_row;
};

// Feeds `file` in pieces of `piece` bytes (0: at once) and finishes.
inline Status read_gguf(std::span<const uint8_t> file, GgufSink& sink, size_t piece = 0, bool tell_size = true) {
  GgufReader reader(sink, tell_size ? file.size() : 0);
  for (size_t at = 0; at < file.size();) {
    const size_t size = piece == 0 ? file.size() : std::min(piece, file.size() - at);
    BITWIN_RETURN_IF_ERROR(reader.feed(file.subspan(at, size)));
    at += size;
  }
  return reader.finish();
}

}  // namespace bitwin::testing
