package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const dialTimeout = 30 * time.Second

var formatter = kmsg.NewRequestFormatter(kmsg.FormatterClientID("loadgen"))

// frame is a request as it goes on the wire, its length in front.
func frame(request kmsg.Request) []byte {
	return formatter.AppendRequest(nil, request, 1)
}

// connection is a socket to the broker with buffers for both directions.
type connection struct {
	socket net.Conn
	reader *bufio.Reader
	writer *bufio.Writer
	answer []byte
}

func dial(address string) (*connection, error) {
	return dialWith(address, 256<<10)
}

func dialWith(address string, buffer int) (*connection, error) {
	plain, err := net.DialTimeout("tcp", address, dialTimeout)
	if err != nil {
		return nil, err
	}
	socket, err := encrypted(plain, address)
	if err != nil {
		return nil, err
	}
	return &connection{
		socket: socket,
		reader: bufio.NewReaderSize(socket, buffer),
		writer: bufio.NewWriterSize(socket, min(buffer, 64<<10)),
	}, nil
}

// send writes a request at once.
func (c *connection) send(request []byte) error {
	if _, err := c.writer.Write(request); err != nil {
		return err
	}
	return c.writer.Flush()
}

// receive reads the next answer's body; it is valid until the next call.
func (c *connection) receive(flexible bool) ([]byte, error) {
	var header [4]byte
	if _, err := io.ReadFull(c.reader, header[:]); err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint32(header[:]))
	if cap(c.answer) < length {
		c.answer = make([]byte, length)
	}
	c.answer = c.answer[:length]
	if _, err := io.ReadFull(c.reader, c.answer); err != nil {
		return nil, err
	}
	skipped := 4
	if flexible {
		skipped = 5
	}
	if length < skipped {
		return nil, fmt.Errorf("an answer has only %d bytes", length)
	}
	return c.answer[skipped:], nil
}

// produced checks the answer of a Produce request.
func produced(body []byte, version int16) error {
	var response kmsg.ProduceResponse
	response.SetVersion(version)
	if err := response.ReadFrom(body); err != nil {
		return err
	}
	for _, topic := range response.Topics {
		for _, partition := range topic.Partitions {
			if partition.ErrorCode != 0 {
				return fmt.Errorf("%s-%d: %w", topic.Topic, partition.Partition, kerr.ErrorForCode(partition.ErrorCode))
			}
		}
	}
	return nil
}
