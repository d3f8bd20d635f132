package main

import (
	"crypto/tls"
	"crypto/x509"
	"flag"
	"net"
	"os"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// authorityVariable names the file of the authority that vouches for the broker. Without it nothing is encrypted.
const authorityVariable = "LOADGEN_AUTHORITY"

var config = sync.OnceValues(func() (*tls.Config, error) {
	file := os.Getenv(authorityVariable)
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}, nil
})

// encrypted is the socket itself, or TLS over it once the handshake is done.
func encrypted(plain net.Conn, address string) (net.Conn, error) {
	shared, err := config()
	if err != nil || shared == nil {
		return plain, err
	}
	own := shared.Clone()
	if own.ServerName, _, err = net.SplitHostPort(address); err != nil {
		return nil, err
	}
	socket := tls.Client(plain, own)
	if err := socket.Handshake(); err != nil {
		plain.Close()
		return nil, err
	}
	return socket, nil
}

// handshakes connects again and again and asks for the broker's versions each time.
func handshakes(arguments []string) (Figures, error) {
	options := flag.NewFlagSet("handshakes", flag.ExitOnError)
	address := options.String("address", "127.0.0.1:9092", "host:port")
	count := options.Int("connections", 2_000, "in all")
	workers := options.Int("at-once", 8, "")
	_ = options.Parse(arguments)
	latencies := make([]Histogram, *workers)
	errs := make([]error, *workers)
	var group sync.WaitGroup
	began := time.Now()
	for number := range *workers {
		group.Go(func() { errs[number] = connectAgain(*address, *count / *workers, &latencies[number]) })
	}
	group.Wait()
	seconds := time.Since(began).Seconds()
	var all Histogram
	for number := range *workers {
		if errs[number] != nil {
			return nil, errs[number]
		}
		all.Add(&latencies[number])
	}
	done := float64(*count / *workers * *workers)
	figures := Figures{"records": done, "seconds": seconds, "records_per_s": done / seconds}
	all.Report(figures, "")
	return figures, nil
}

func connectAgain(address string, count int, latencies *Histogram) error {
	request := kmsg.NewApiVersionsRequest()
	request.SetVersion(0)
	asked := frame(&request)
	for range count {
		began := time.Now()
		c, err := dialWith(address, 8<<10)
		if err != nil {
			return err
		}
		if err := c.send(asked); err != nil {
			return err
		}
		if _, err := c.receive(false); err != nil {
			return err
		}
		c.socket.Close()
		latencies.Observe(time.Since(began), 1)
	}
	return nil
}
