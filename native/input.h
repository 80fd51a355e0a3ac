// What the program reads: files by name, standard input, lines, JSON documents. All of it may be malformed.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace bitwin::native {

// A file, or standard input under the name "-". Failure when it cannot be opened or read, or is a folder.
class InputFile {
 public:
  explicit InputFile(const std::string& path);

  // Fills as much of `data` as the file still holds (of standard input: what is there now); 0 at the end.
  size_t read(uint8_t* data, size_t size);
  // Bytes in all, 0 when unknown (a pipe).
  uint64_t size() const { return size_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;  // null: standard input
  uint64_t size_ = 0;
};

// The lines of a file, of any length up to `kMaxLine`, split at line feeds only.
class LineReader {
 public:
  static constexpr size_t kMaxLine = 64u << 20;
  explicit LineReader(const std::string& path) : file_(path), path_(path) {}

  // The next line without its line feed; false at the end.
  bool next(std::string& line);
  // Whether next() would have to wait for more of the file.
  bool would_read() const { return buffer_.find('\n', start_) == std::string::npos; }
  // "FILE:LINE" of the line that next() gave last.
  std::string where() const { return path_ + ":" + std::to_string(number_); }

 private:
  InputFile file_;
  std::string path_;
  std::string buffer_;
  size_t start_ = 0;
  uint64_t number_ = 0;
  bool ended_ = false;
};

// All of a file or of standard input ("-"); Failure beyond `limit` bytes.
std::string read_all(const std::string& path, size_t limit);

// A JSON document from a file ("-": standard input). Errors name the file and the place in it.
nlohmann::json read_json(const std::string& path);
// The same from text; `where` is put in front of errors.
nlohmann::json parse_json(const std::string& text, const std::string& where);

// An array of token ids of a vocabulary of `size`; `where` names it in errors, e.g. "FILE: prompts[2].ids".
std::vector<TokenId> token_ids(const nlohmann::json& value, int64_t size, const std::string& where);

}  // namespace bitwin::native
