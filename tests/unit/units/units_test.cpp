#include "units/units.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace thalweg::units {
namespace {

template <class F>
std::string error_of(F f) {
  try {
    f();
    return "none";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

} // namespace

TEST_CASE("times are the nearest doubles to what is written") {
  const std::vector<std::pair<const char*, double>> cases{
      {"10ms", 10e-3},   {"1.5 us", 1.5e-6}, {"2min", 120}, {"0", 0},         {"0s", 0},
      {"7ns", 7e-9},     {"1h", 3600},       {".5s", 0.5},  {" 3 ms ", 3e-3}, {"1e-3s", 1e-3},
      {"1e2ms", 100e-3}, {"0.1ms", 0.1e-3},  {"5.s", 5}};
  for (const auto& [text, seconds] : cases) {
    CAPTURE(text);
    CHECK(parse_time(text).value() == seconds);
  }
}

TEST_CASE("sizes are exact") {
  const std::vector<std::pair<const char*, Size>> cases{
      {"8MB", 8000000},
      {"64KiB", 65536},
      {"1 B", 1},
      {"512", 512},
      {"0", 0},
      {"1.5kB", 1500},
      {"0.57MB", 570000},
      {"0.5KiB", 512},
      {"0.25KiB", 256},
      {"2TiB", Size{2} << 40},
      {"1.000", 1},
      {"9223372036854775807", 9223372036854775807},
      {"9.223372036854TB", 9223372036854}};
  for (const auto& [text, bytes] : cases) {
    CAPTURE(text);
    CHECK(parse_size(text) == bytes);
  }
}

TEST_CASE("rates are in bits or bytes") {
  const std::vector<std::pair<const char*, double>> cases{
      {"1Gbps", 125e6},     {"12.5MB/s", 12.5e6}, {"100Mbit/s", 12.5e6}, {"8bps", 1},
      {"1 kbps", 125},      {"1Kbit/s", 125},     {"2B/s", 2},           {"1MiB/s", 1048576},
      {"100 Gbps", 12.5e9}, {"1Tbps", 125e9}};
  for (const auto& [text, rate] : cases) {
    CAPTURE(text);
    CHECK(parse_rate(text).value() == rate);
  }
}

TEST_CASE("what is no quantity is refused, named and put right") {
  for (const char* text : {"", " ", "ms", "5", "-1s", "1 parsec", "1,5s", "1..5s", "1e999s", "inf",
                           "nan", "1 e3s", "infs", "0x10s", "1Mbps", "1MS", "1s s"}) {
    CAPTURE(text);
    const std::string error = error_of([&] { parse_time(text); });
    CHECK(error.find('"' + std::string(text) + "\" is not a time") == 0);
  }
  for (const char* text : {"", "B", "-1", "1.5", "1.5B", "0.3KiB", "1e3", "8Mb", "8M", "1 MBB",
                           "9223372036854775808", "9300000TB", "1Mbps", "."}) {
    CAPTURE(text);
    const std::string error = error_of([&] { parse_size(text); });
    CHECK(error.find('"' + std::string(text) + "\" is not a size") == 0);
  }
  for (const char* text :
       {"", "1", "0bps", "-1Gbps", "1GB", "1Gb", "1e999bps", "Gbps", "1e-400bps"}) {
    CAPTURE(text);
    const std::string error = error_of([&] { parse_rate(text); });
    CHECK(error.find('"' + std::string(text) + "\" is not a rate") == 0);
  }
  CHECK(error_of([] { parse_time("10"); }) ==
        "\"10\" is not a time: write a number of at least 0 and a unit (ns, us, ms, s, min or h), "
        "as in \"10ms\"");
}

TEST_CASE("quantities are printed with three significant digits in the largest unit that fits") {
  CHECK(to_text(Time(0.0102)) == "10.2ms");
  CHECK(to_text(Time(0.01)) == "10ms");
  CHECK(to_text(Time(999.9e-6)) == "1ms"); // rounds up into the next unit
  CHECK(to_text(Time(999.4e-6)) == "999us");
  CHECK(to_text(Time(1.234567)) == "1.23s");
  CHECK(to_text(Time(90)) == "1.5min");
  CHECK(to_text(Time(7200)) == "2h");
  CHECK(to_text(Time(3.6e8)) == "100000h");
  CHECK(to_text(Time(1e-10)) == "0.1ns");
  CHECK(to_text(Time(0)) == "0s");
  CHECK(to_text(Time(-0.005)) == "-5ms");
  CHECK(to_text(Time::infinity()) == "infinite");
  CHECK(size_to_text(8000000) == "8MB");
  CHECK(size_to_text(1050000) == "1.05MB");
  CHECK(size_to_text(1048576) == "1MiB");
  CHECK(size_to_text(32768) == "32KiB");
  CHECK(size_to_text(1048577) == "1.05MB");
  CHECK(size_to_text(0) == "0B");
  CHECK(size_to_text(999) == "999B");
  CHECK(size_to_text(1001) == "1KB");
  CHECK(size_to_text(999999) == "1MB");
  CHECK(to_text(Rate(12.5e6)) == "100Mbps");
  CHECK(to_text(Rate(125e6)) == "1Gbps");
  CHECK(to_text(Rate(1e15)) == "8000Tbps");
  CHECK(to_text(Rate::infinity()) == "unlimited");
}

TEST_CASE("printed quantities are parsed again, to within three digits") {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-9, 7);
  for (int i = 0; i < 10000; ++i) {
    const double value = std::pow(10, exponent(random));
    CAPTURE(value);
    CHECK(std::abs(parse_time(to_text(Time(value))).value() / value - 1) <= 0.005001);
    CHECK(std::abs(parse_rate(to_text(Rate(value * 1e6))).value() / (value * 1e6) - 1) <= 0.005001);
    const auto size = static_cast<Size>(value * 1e9);
    const auto parsed = static_cast<double>(parse_size(size_to_text(size)));
    CHECK(std::abs(parsed - static_cast<double>(size)) <= 0.005001 * static_cast<double>(size));
  }
}

TEST_CASE("quantities calculate") {
  CHECK(Size{8000000} / Rate(4e6) == Time(2));
  CHECK(Rate(4e6) * Time(2) == 8e6);
  CHECK(Time(1) + Time(2) - Time(0.5) == 5.0 * Time(0.5));
  CHECK(Time(3) / Time(2) == 1.5);
  CHECK(Time(3) / 2 < Time(2));
  CHECK(Size{1} / Rate::infinity() == Time(0));
}

} // namespace thalweg::units
