#include "native/input.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "native/output.h"
#include "native/system.h"

namespace bitwin::native {

InputFile::InputFile(const std::string& path) : path_(path == "-" ? "standard input" : path) {
  if (path == "-") return;
  std::filesystem::path name(std::u8string(path.begin(), path.end()));
  std::error_code error;
  std::filesystem::file_status status = std::filesystem::status(name, error);
  if (std::filesystem::is_directory(status)) throw Failure(path + ": this is a folder, not a file");
  if (std::filesystem::is_regular_file(status)) {
    uintmax_t size = std::filesystem::file_size(name, error);
    if (!error) size_ = size;
  }
  file_.reset(open_file(path));
  if (!file_) throw Failure(path + ": " + std::strerror(errno));
}

size_t InputFile::read(uint8_t* data, size_t size) {
  if (!file_) {
    long count = read_input(reinterpret_cast<char*>(data), size);
    if (count < 0) throw Failure(path_ + ": " + std::strerror(errno));
    return static_cast<size_t>(count);
  }
  size_t count = std::fread(data, 1, size, file_.get());
  if (count < size && std::ferror(file_.get())) throw Failure(path_ + ": reading failed: " + std::strerror(errno));
  return count;
}

bool LineReader::next(std::string& line) {
  size_t searched = start_;
  for (;;) {
    size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      line.assign(buffer_, start_, end - start_);
      start_ = end + 1;
      ++number_;
      return true;
    }
    if (ended_) {
      if (start_ == buffer_.size()) return false;
      line.assign(buffer_, start_);
      start_ = buffer_.size();
      ++number_;
      return true;
    }
    buffer_.erase(0, start_);
    start_ = 0;
    if (buffer_.size() > kMaxLine) {
      throw Failure(path_ + ":" + std::to_string(number_ + 1) + ": the line is longer than " +
                    std::to_string(kMaxLine) + " bytes");
    }
    searched = buffer_.size();
    uint8_t piece[65536];
    size_t count = file_.read(piece, sizeof piece);
    if (count == 0) ended_ = true;
    buffer_.append(reinterpret_cast<const char*>(piece), count);
  }
}

std::string read_all(const std::string& path, size_t limit) {
  InputFile file(path);
  std::string text;
  uint8_t piece[65536];
  while (size_t count = file.read(piece, sizeof piece)) {
    if (count > limit - text.size()) {
      throw Failure((path == "-" ? "standard input" : path) + ": more than the " + std::to_string(limit) +
                    " bytes that are read at most");
    }
    text.append(reinterpret_cast<const char*>(piece), count);
  }
  return text;
}

nlohmann::json read_json(const std::string& path) {
  return parse_json(read_all(path, 256u << 20), path == "-" ? "standard input" : path);
}

nlohmann::json parse_json(const std::string& text, const std::string& where) {
  // The library takes a NUL byte for the end of its input and would not look at what follows.
  if (text.find('\0') != std::string::npos) throw Failure(where + ": not valid JSON: it holds a NUL byte");
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {  // a parse_error, or out_of_range for 1e400
    // The library's sentence begins with a tag in brackets: "[json.exception.parse_error.101] parse error at ...".
    std::string reason = error.what();
    size_t tag = reason.find("] ");
    throw Failure(where + ": not valid JSON: " + (tag == std::string::npos ? reason : reason.substr(tag + 2)));
  }
}

std::vector<TokenId> token_ids(const nlohmann::json& value, int64_t size, const std::string& where) {
  if (!value.is_array()) throw Failure(where + ": expected an array of token ids, not " + value.type_name());
  std::vector<TokenId> ids;
  ids.reserve(value.size());
  for (size_t i = 0; i < value.size(); ++i) {
    const nlohmann::json& id = value[i];
    // get<int64_t> of an unsigned number beyond its range would wrap.
    bool valid = id.is_number_integer() && !(id.is_number_unsigned() && id.get<uint64_t>() > INT32_MAX);
    int64_t number = valid ? id.get<int64_t>() : -1;
    if (number < 0 || number >= size) {
      // Writing out a structure recurses, as deep as whoever wrote the file likes.
      std::string shown = id.is_structured()
                              ? std::string("an ") + id.type_name()
                              : id.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).substr(0, 40);
      throw Failure(where + "[" + std::to_string(i) + "]: " + shown +
                    " is not a token id of this model (a whole number from 0 to " + std::to_string(size - 1) + ")");
    }
    ids.push_back(static_cast<TokenId>(number));
  }
  return ids;
}

}  // namespace bitwin::native
