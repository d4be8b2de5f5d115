#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

/// Quantities and their text forms. Inside Thalweg a time is in seconds, a size in bytes and a rate
/// in bytes per second; text such as "10ms" is parsed and printed at the edges only.
namespace thalweg::units {

/// A number with a unit: `Tag` keeps a time from being used as a rate.
template <class Tag>
class Quantity {
public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : _value(value) {}

  /// The number in the base unit (seconds, bytes per second).
  [[nodiscard]] constexpr double value() const { return _value; }
  [[nodiscard]] static constexpr Quantity infinity() {
    return Quantity(std::numeric_limits<double>::infinity());
  }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) { return _value += other._value, *this; }
  constexpr Quantity& operator-=(Quantity other) { return _value -= other._value, *this; }
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a._value + b._value);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a._value - b._value);
  }
  friend constexpr Quantity operator*(Quantity a, double b) { return Quantity(a._value * b); }
  friend constexpr Quantity operator*(double a, Quantity b) { return Quantity(a * b._value); }
  friend constexpr Quantity operator/(Quantity a, double b) { return Quantity(a._value / b); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a._value / b._value; }

private:
  double _value = 0;
};

/// Seconds.
using Time = Quantity<struct TimeTag>;
/// Bytes per second.
using Rate = Quantity<struct RateTag>;
/// Bytes; an integer, since schedules cut data at exact byte boundaries.
using Size = std::int64_t;

constexpr Time operator/(Size size, Rate rate) {
  return Time(static_cast<double>(size) / rate.value());
}
constexpr double operator*(Rate rate, Time time) { return rate.value() * time.value(); }

/// Parses "10ms", "1.5 us", "2min", "0"; units ns, us, ms, s, min, h.
/// @throws std::invalid_argument naming the text, if it isn't a finite time of at least zero
Time parse_time(std::string_view text);
/// Parses "8MB", "64KiB", "1 B", "512"; decimal (KB, MB, GB, TB) and binary (KiB, MiB, GiB, TiB).
/// @throws std::invalid_argument naming the text, if it isn't a whole number of bytes of at least
/// zero
Size parse_size(std::string_view text);
/// Parses "1Gbps", "12.5MB/s", "100Mbit/s"; bits (bps, bit/s, with K, M, G, T) or bytes (B/s).
/// @throws std::invalid_argument naming the text, if it isn't a rate above zero
Rate parse_rate(std::string_view text);

/// Prints three significant digits in the largest unit that leaves at least one before the point:
/// "10.2ms".
std::string to_text(Time time);
/// Prints the exact size where three digits are enough ("8MB") or in a binary unit ("64KiB"), else
/// three significant digits: "1.05MB".
std::string size_to_text(Size size);
/// Prints bits per second, as networks are sold: "100Mbps". Infinity is "unlimited".
std::string to_text(Rate rate);

} // namespace thalweg::units
